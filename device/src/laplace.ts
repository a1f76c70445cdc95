// Laplace noise on a clipped, gridded code.
import type { Entropy } from "./entropy";
import { Fraction } from "./fraction";
import type { Mechanism } from "./mechanism";
import { rint } from "./rounding";
import { DiscreteLaplace } from "./sampling";

export interface LaplaceFields {
  readonly kind: "grid-laplace";
  /** The lower end of the clip box and the step of its grid, per coordinate. */
  readonly low: readonly number[];
  readonly step: readonly number[];
  readonly gridSteps: number;
  /** Scales of the noise in grid steps: fractions such as "3/4". */
  readonly scales: readonly string[];
}

/** Clips to the box, rounds to its grid, adds discrete Laplace noise of `scales` grid steps per coordinate. */
export class GridLaplace implements Mechanism {
  readonly publicOutputs = null;
  readonly dim: number;
  private readonly noise: DiscreteLaplace;

  constructor(private readonly fields: LaplaceFields) {
    this.dim = fields.low.length;
    this.noise = new DiscreteLaplace(fields.scales.map((scale) => Fraction.read(scale)));
  }

  /** Makes noisy codes. Total, so success or failure reveals nothing about the data. */
  privatise(codes: Float64Array, entropy: Entropy): Float64Array {
    const noise = this.noise.draw(codes.length / this.dim, entropy);
    return codes.map((value, at) => {
      const [low, step] = [this.fields.low[at % this.dim]!, this.fields.step[at % this.dim]!];
      return low + step * Number(BigInt(this.position((value - low) / step)) + noise[at]!);
    });
  }

  /** Maps any number to 0 .. gridSteps: NaN to the middle, infinities to the ends. */
  private position(exact: number): number {
    const { gridSteps: most } = this.fields;
    if (Number.isNaN(exact)) return Math.floor(most / 2);
    return Math.min(Math.max(Number.isFinite(exact) ? rint(exact) : exact, 0), most);
  }
}
