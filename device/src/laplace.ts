// Laplace noise on a clipped, gridded code.
import { Box } from "./box";
import { BundleError } from "./errors";
import type { Entropy } from "./entropy";
import type { Event } from "./event";
import { Fraction } from "./fraction";
import type { Certified, Mechanism } from "./mechanism";
import type { Record } from "./record";
import { DiscreteLaplace } from "./sampling";

const MOST_SCALES = 4096;
const NAMES = ["baseline", "paper", "laplace"];

/** Clip to the box, round to its grid, add discrete Laplace noise of `scales` grid steps per coordinate. */
export class GridLaplace implements Mechanism {
  readonly takesWindows = false;
  readonly publicOutputs = null;
  readonly ldpCeiling = null;
  readonly epsilon: Fraction;
  private readonly noise: DiscreteLaplace;

  private constructor(
    readonly name: string,
    readonly event: Event,
    readonly box: Box,
    readonly scales: readonly Fraction[],
  ) {
    if (scales.length !== box.dim) throw new BundleError("mechanism: it needs one noise scale for each coordinate");
    const kinds = new Set(scales.map((scale) => `${scale.above}/${scale.below}`)).size;
    if (kinds > MOST_SCALES) throw new BundleError(`mechanism: noise of ${kinds} different scales; use fewer features`);
    this.noise = new DiscreteLaplace(scales);
    this.epsilon = scales.map((scale) => new Fraction(BigInt(box.gridSteps)).over(scale)).reduce((a, b) => a.plus(b));
    if (this.epsilon.exceeds(Fraction.of(event.epsilon))) {
      throw new BundleError("mechanism: the noise gives a larger epsilon than is stated; train again");
    }
  }

  static read(record: Record, event: Event): GridLaplace {
    record.only("kind", "name", "event", "box", "scales");
    const name = record.text("name");
    if (!NAMES.includes(name)) throw new BundleError(`mechanism: its name must be one of ${NAMES.join(", ")}`);
    return new GridLaplace(name, event, Box.read(record.inner("box")), record.fractions("scales"));
  }

  get dim(): number {
    return this.box.dim;
  }

  /** Noisy codes; total in its input, so that success or failure says nothing about the data. */
  privatise(codes: Float64Array, entropy: Entropy): Float64Array {
    const noise = this.noise.draw(codes.length / this.dim, entropy);
    return codes.map((value, at) => {
      const coordinate = at % this.dim;
      const position = BigInt(this.box.toGrid(value, coordinate)) + noise[at]!;
      return this.box.fromGrid(Number(position), coordinate);
    });
  }

  async certified(): Promise<Certified> {
    const epsilon = this.epsilon.toNumber();
    return {
      derived_epsilon: epsilon,
      ldp_epsilon: epsilon,
      noise_scales: this.scales.map((scale, index) => scale.times(this.box.steps[index]!).toNumber()),
      sensitivity: this.box.widths.reduce((a, b) => a.plus(b)).toNumber(),
    };
  }
}
