// Exact discrete Laplace noise, bit by bit, from the same random words as Python draws it.
// Claims: docs/claims.md#the-sampler-is-exact
import type { Entropy } from "./entropy";
import { Fraction, bitLength } from "./fraction";

const REACH = 1n << 10n; // scales: noise beyond has probability exp(-1024) and is never drawn
const WORD = 64n;
const KINDS = [1, 2, 4, 8]; // bytes per random integer
const SLACK = 1n << 32n; // far more than the error of the series, its divisions and its squares

/**
 * Independent integers with P(k) proportional to exp(-|k| / scale), one per scale in each row.
 *
 * The bits of a geometric number are independent; bit i is 1 with probability 1 / (1 + exp(2^i / scale)). With the
 * probability of bit 0 the number x becomes -1 - x.
 */
export class DiscreteLaplace {
  private readonly thresholds: bigint[][];

  constructor(private readonly scales: readonly Fraction[]) {
    const bits = Math.max(...scales.map((scale) => bitLength((REACH * scale.above - 1n) / scale.below)));
    const known = new Map<string, bigint[]>();
    this.thresholds = scales.map((scale) => {
      const name = `${scale.above}/${scale.below}`;
      if (!known.has(name))
        known.set(
          name,
          Array.from({ length: 1 + bits }, (_, bit) => digit(exponent(scale, bit), 1)),
        );
      return known.get(name)!;
    });
  }

  /** Draws rows one after the other; every value uses the same number of words, whatever it becomes. */
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

/** The exponent of a bit's probability; bit 0 is the sign, whose probability is that of the lowest bit. */
function exponent(scale: Fraction, bit: number): Fraction {
  return new Fraction(1n << BigInt(Math.max(bit - 1, 0))).over(scale);
}

/** Settles a bit whose first word equals its threshold: compares further words with further digits. */
function settled(exponent: Fraction, entropy: Entropy): boolean {
  for (let place = 2; ; place += 1) {
    const [word, own] = [entropy.words(1)[0]!, digit(exponent, place)];
    if (word !== own) return word < own;
  }
}

/** The base-2^64 digit of 1 / (1 + exp(exponent)) at this place after the point, exactly. */
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

/** exp(-x) · 2^bits with an error below 2^20: a series for x / 2^k, squared k times. */
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

/** Uniform integers in 0 .. bound - 1; integers past the last full multiple of the bound are drawn again. */
export function below(bound: bigint, count: number, entropy: Entropy): bigint[] {
  if (bound === 1n) return new Array<bigint>(count).fill(0n);
  // The smallest size that repeats at most one draw in 16: random bits are expensive.
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

/** Integers of `bytes` bytes each, in the order of the words, lowest byte first. */
function draw(bytes: number, count: number, entropy: Entropy): bigint[] {
  const words = entropy.words(Math.ceil((count * bytes) / 8));
  const mask = (1n << BigInt(8 * bytes)) - 1n;
  const each = 8 / bytes;
  return Array.from({ length: count }, (_, index) => {
    return (words[Math.floor(index / each)]! >> BigInt(8 * bytes * (index % each))) & mask;
  });
}
