// The logarithm of an exact ratio as a float that is never too small.
import { Fraction, bitLength } from "./fraction";

const BITS = 256n;
const ONE = 1n << BITS;
const SLACK = 1n << 16n; // far more than the series and its divisions are off, far less than a float shows

/** ln(ratio) rounded up; null stands for an infinite ratio. */
export function logUp(ratio: Fraction | null): number {
  if (ratio === null) return Infinity;
  if (ratio.above <= ratio.below) return 0;
  const bound = new Fraction(logarithm(ratio) + SLACK, ONE);
  const nearest = bound.toNumber();
  return bound.exceeds(Fraction.of(nearest)) ? nextUp(nearest) : nearest;
}

/** ln(ratio) · 2^256, from ln(m · 2^k) = 2 artanh((m - 1) / (m + 1)) + k ln 2. */
function logarithm(ratio: Fraction): bigint {
  const power = bitLength(ratio.above) - bitLength(ratio.below);
  const [above, below] = [ratio.above << BigInt(Math.max(-power, 0)), ratio.below << BigInt(Math.max(power, 0))];
  return 2n * artanh(above - below, above + below) + BigInt(power) * 2n * artanh(1n, 3n);
}

function artanh(above: bigint, below: bigint): bigint {
  let term = (above << BITS) / below;
  const square = (term * term) >> BITS;
  let sum = 0n;
  for (let odd = 1n; term !== 0n && term !== -1n; odd += 2n) {
    sum += term / odd;
    term = (term * square) >> BITS;
  }
  return sum;
}

/** The next float above a positive one. */
export function nextUp(value: number): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigUint64(0, bits.getBigUint64(0) + 1n);
  return bits.getFloat64(0);
}
