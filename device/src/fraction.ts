// Exact fractions, so that a probability is never rounded.

/** The fraction above / below of two positive integers. */
export class Fraction {
  constructor(
    readonly above: bigint,
    readonly below = 1n,
  ) {}

  /** Parses text such as "3/4". */
  static read(text: string): Fraction {
    const [above, below] = text.split("/") as [string, string];
    return new Fraction(BigInt(above), BigInt(below));
  }

  over(other: Fraction): Fraction {
    return new Fraction(this.above * other.below, this.below * other.above);
  }
}

export function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}
