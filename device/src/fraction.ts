// Exact fractions, so that an epsilon is never understated by rounding.

/** above / below in lowest terms, below > 0. */
export class Fraction {
  readonly above: bigint;
  readonly below: bigint;

  constructor(above: bigint, below = 1n) {
    if (below <= 0n) throw new RangeError("a fraction needs a positive denominator");
    const shared = gcd(above < 0n ? -above : above, below);
    this.above = above / shared;
    this.below = below / shared;
  }

  /** The exact value of a finite float. */
  static of(value: number): Fraction {
    const bits = new DataView(new ArrayBuffer(8));
    bits.setFloat64(0, value);
    const word = bits.getBigUint64(0);
    const power = Number((word >> 52n) & 0x7ffn);
    if (power === 0x7ff) throw new RangeError("not a finite number");
    const digits = (word & ((1n << 52n) - 1n)) | (power ? 1n << 52n : 0n);
    const signed = word >> 63n ? -digits : digits;
    const shift = BigInt((power || 1) - 1075);
    return shift >= 0n ? new Fraction(signed << shift) : new Fraction(signed, 1n << -shift);
  }

  plus(other: Fraction): Fraction {
    return new Fraction(this.above * other.below + other.above * this.below, this.below * other.below);
  }

  minus(other: Fraction): Fraction {
    return new Fraction(this.above * other.below - other.above * this.below, this.below * other.below);
  }

  times(other: Fraction): Fraction {
    return new Fraction(this.above * other.above, this.below * other.below);
  }

  /** Divided by a positive fraction. */
  over(other: Fraction): Fraction {
    return new Fraction(this.above * other.below, this.below * other.above);
  }

  exceeds(other: Fraction): boolean {
    return this.above * other.below > other.above * this.below;
  }

  /** The nearest float, ties to even. */
  toNumber(): number {
    if (this.above === 0n) return 0;
    const magnitude = this.above < 0n ? -this.above : this.above;
    // 55 bits or more of the quotient and a sticky bit: more than the 53 of a float, so it is rounded once.
    const shift = BigInt(Math.max(-1020, 56 - bitLength(magnitude) + bitLength(this.below)));
    const [above, below] = shift >= 0n ? [magnitude << shift, this.below] : [magnitude, this.below << -shift];
    const quotient = (above / below) | (above % below ? 1n : 0n);
    const value = scale(Number(quotient), -Number(shift));
    return this.above < 0n ? -value : value;
  }
}

/** value · 2^power in two exact steps, where one power would overflow. */
function scale(value: number, power: number): number {
  const half = Math.trunc(power / 2);
  return value * 2 ** half * 2 ** (power - half);
}

export function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}

function gcd(a: bigint, b: bigint): bigint {
  while (b) [a, b] = [b, a % b];
  return a || 1n;
}
