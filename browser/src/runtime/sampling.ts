// Exact discrete Laplace noise in integers (Canonne, Kamath, Steinke 2020), word for word as Python draws it.
// Claims: docs/claims.md#the-sampler-is-exact
import { BundleError } from "./errors";
import type { Entropy } from "./entropy";
import { Fraction, bitLength } from "./fraction";

const LARGEST = 1n << 48n;
const BLOCK = 1 << 16;
const KINDS = [1, 2, 4, 8]; // bytes of an integer that is drawn

/** Independent integers with P(k) proportional to exp(-|k| / scale). */
export function discreteLaplace(scale: Fraction, count: number, entropy: Entropy): bigint[] {
  requireDrawable(scale);
  const blocks: bigint[][] = [];
  for (let start = 0; start < count; start += BLOCK) blocks.push(block(scale, Math.min(BLOCK, count - start), entropy));
  return blocks.flat();
}

/** Refuse a scale that the sampler's integers cannot hold. */
export function requireDrawable(scale: Fraction): void {
  if (scale.above <= 0n || scale.above > LARGEST || scale.below > LARGEST) {
    const bits = `${bitLength(scale.above)}/${bitLength(scale.below)}`;
    throw new BundleError(`mechanism: noise of ${bits} bits cannot be drawn; use a larger epsilon or a coarser grid`);
  }
}

function block(scale: Fraction, count: number, entropy: Entropy): bigint[] {
  const noise: bigint[] = [];
  while (noise.length < count) {
    const left = count - noise.length;
    // 1 - exp(-1) of wide noise is accepted.
    noise.push(...attempt(scale, left + ((left * 5) >> 3), entropy).slice(0, left));
  }
  return noise;
}

/** One round of the rejection loop, `count` times: the values that were accepted. */
function attempt(scale: Fraction, count: number, entropy: Entropy): bigint[] {
  const tried = below(scale.above, count, entropy);
  const kept = bernoulliExp(tried, scale.above, entropy);
  const remainder = tried.filter((_, index) => kept[index]);
  const laps = geometric(remainder.length, entropy);
  const magnitude = remainder.map((rest, index) => (rest + scale.above * BigInt(laps[index]!)) / scale.below);
  const minus = below(2n, magnitude.length, entropy);
  const signed = magnitude.map((size, index) => (minus[index] ? -size : size));
  // Zero with a minus would count it twice.
  return signed.filter((_, index) => !minus[index] || magnitude[index]! > 0n);
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

/** True with probability exp(-n / denominator), 0 <= n <= denominator (von Neumann 1951). */
function bernoulliExp(numerators: bigint[], denominator: bigint, entropy: Entropy): boolean[] {
  const odd = new Array<boolean>(numerators.length).fill(true);
  let active = [...numerators.keys()];
  for (let k = 1; active.length; ) {
    const first = below(BigInt(k), active.length, entropy);
    active = active.filter((_, at) => first[at] === 0n);
    const second = below(denominator, active.length, entropy);
    active = active.filter((index, at) => second[at]! < numerators[index]!);
    k += 1;
    for (const index of active) odd[index] = k % 2 === 1; // as long as they do not fail later than at k
  }
  return odd;
}

/** How many Bernoulli(exp(-1)) succeed before the first failure. */
function geometric(count: number, entropy: Entropy): number[] {
  const successes = new Array<number>(count).fill(0);
  let active = [...successes.keys()];
  while (active.length) {
    const goesOn = bernoulliExp(active.map(() => 1n), 1n, entropy);
    active = active.filter((_, at) => goesOn[at]);
    for (const index of active) successes[index]! += 1;
  }
  return successes;
}
