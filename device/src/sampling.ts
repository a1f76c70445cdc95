// Exact discrete Laplace noise, bit by bit, word for word as Python draws it: every value takes the same words.
// Claims: docs/claims.md#the-sampler-is-exact
import type { Entropy } from "./entropy";
import { Fraction, bitLength } from "./fraction";

const REACH = 1n << 10n; // noise beyond so many scales has probability exp(-1024) and is never drawn
const WORD = 64n;
const KINDS = [1, 2, 4, 8]; // bytes of an integer that is drawn
const SLACK = 1n << 32n; // far more than the series, its divisions and its squares are off

/**
 * Independent integers with P(k) proportional to exp(-|k| / scale), one of each scale in a row.
 *
 * The bits of a geometric number are independent, bit i is 1 with probability 1 / (1 + exp(2^i / scale)). With the
 * probability of bit 0 the number x becomes -1 - x.
 */
export class DiscreteLaplace {
  private readonly thresholds: bigint[][];

  constructor(private readonly scales: readonly Fraction[]) {
    const bits = Math.max(...scales.map((scale) => bitLength((REACH * scale.above - 1n) / scale.below)));
    const known = new Map<string, bigint[]>();
    this.thresholds = scales.map((scale) => {
      const name = `${scale.above}/${scale.below}`;
      if (!known.has(name)) known.set(name, Array.from({ length: 1 + bits }, (_, bit) => digit(exponent(scale, bit), 1)));
      return known.get(name)!;
    });
  }

  /** So many rows, one after the other; a value has words of its own, so many whatever it becomes. */
  draw(rows: number, entropy: Entropy): bigint[] {
    const each = this.thresholds[0]!.length;
    const words = entropy.words(rows * this.scales.length * each);
    return Array.from({ length: rows * this.scales.length }, (_, at) => {
      const column = at % this.scales.length;
      const ones = this.thresholds[column]!.map((threshold, bit) => {
        const word = words[at * each + bit]!;
        return word === threshold ? settled(exponent(this.scales[column]!, bit), entropy) : word < threshold;
      });
      const size = ones.reduceRight((sum, one, bit) => (bit ? 2n * sum + BigInt(one) : sum), 0n);
      return ones[0] ? -1n - size : size;
    });
  }
}

/** Of the sign at 0, which has the chance of the lowest bit, and of bit after bit behind it. */
function exponent(scale: Fraction, bit: number): Fraction {
  return new Fraction(1n << BigInt(Math.max(bit - 1, 0))).over(scale);
}

/** A bit whose first word decides nothing: the next ones do, against the next digits of its probability. */
function settled(exponent: Fraction, entropy: Entropy): boolean {
  for (let place = 2; ; place += 1) {
    const [word, own] = [entropy.words(1)[0]!, digit(exponent, place)];
    if (word !== own) return word < own;
  }
}

/** Of 1 / (1 + exp(exponent)) to the base 2^64 the digit at this place behind the point, exactly. */
function digit(exponent: Fraction, place: number): bigint {
  const bits = WORD * BigInt(place);
  if (exponent.above >= bits * exponent.below) return 0n;
  for (let spare = 96n; ; spare += WORD) {
    const one = 1n << (bits + spare);
    const odds = exponential(exponent, bits + spare);
    const share = (odds * one) / (one + odds);
    const [low, high] = [(share - SLACK) >> spare, (share + SLACK) >> spare];
    if (low === high) return low & ((1n << WORD) - 1n);
  }
}

/** exp(-x) · 2^bits, off by less than 2^20: a series for x / 2^k, squared k times. */
function exponential(x: Fraction, bits: bigint): bigint {
  const halvings = BigInt(Math.max(0, bitLength(x.above) - bitLength(x.below) + 2));
  const small = (x.above << bits) / (x.below << halvings);
  let sum = 0n;
  let term = 1n << bits;
  for (let number = 1n; term !== 0n; number += 1n) {
    sum += number % 2n ? term : -term;
    term = ((term * small) >> bits) / number;
  }
  for (let left = halvings; left; left -= 1n) sum = (sum * sum) >> bits;
  return sum;
}

/** Uniform integers in 0 .. bound - 1; draws past the last whole multiple of the bound are drawn again. */
export function below(bound: bigint, count: number, entropy: Entropy): bigint[] {
  if (bound === 1n) return new Array<bigint>(count).fill(0n);
  // The smallest integers with which at most one draw in 16 is made again: random bits are dear.
  const bytes = KINDS.find((size) => bound << 4n <= 1n << BigInt(8 * size))!;
  const last = ((1n << BigInt(8 * bytes)) / bound) * bound - 1n;
  const drawn = draw(bytes, count, entropy);
  let redraw = [...drawn.keys()].filter((index) => drawn[index]! > last);
  while (redraw.length) {
    const again = draw(bytes, redraw.length, entropy);
    redraw.forEach((index, at) => (drawn[index] = again[at]!));
    redraw = redraw.filter((index) => drawn[index]! > last);
  }
  return drawn.map((value) => value % bound);
}

/** Integers of so many bytes, in the order in which they stand in the words, lowest byte first. */
function draw(bytes: number, count: number, entropy: Entropy): bigint[] {
  const words = entropy.words(Math.ceil((count * bytes) / 8));
  const mask = (1n << BigInt(8 * bytes)) - 1n;
  const each = 8 / bytes;
  return Array.from({ length: count }, (_, index) => {
    return (words[Math.floor(index / each)]! >> BigInt(8 * bytes * (index % each))) & mask;
  });
}
