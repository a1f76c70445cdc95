// Bounding a code, so that the sensitivity we claim is the one we have: a public clip box with an integer grid.
import { BundleError } from "./errors";
import { Fraction } from "./fraction";
import type { Record } from "./record";
import { rint } from "./rounding";

const MOST_GRID_STEPS = 1 << 24;

/** Coordinate i lies in [low_i, high_i], cut into `gridSteps` steps; public. */
export class Box {
  readonly widths: readonly Fraction[];
  readonly steps: readonly Fraction[];
  private readonly step: readonly number[];

  private constructor(readonly low: readonly number[], high: readonly number[], readonly gridSteps: number) {
    if (!low.length || low.length !== high.length) throw new BundleError("mechanism: a clip box needs as many low as high ends");
    if (gridSteps < 1 || gridSteps > MOST_GRID_STEPS) throw new BundleError("mechanism: grid_steps is out of its bounds");
    const fits = (lo: number, hi: number) => lo < hi && Number.isFinite(hi - lo) && (hi - lo) / gridSteps > 1e-300;
    if (!low.every((end, index) => fits(end, high[index]!))) {
      throw new BundleError("mechanism: a clip box must be finite with low < high");
    }
    this.widths = low.map((end, index) => Fraction.of(high[index]!).minus(Fraction.of(end)));
    this.steps = this.widths.map((width) => width.over(new Fraction(BigInt(gridSteps))));
    this.step = this.steps.map((step) => step.toNumber());
  }

  static read(record: Record): Box {
    record.only("low", "high", "grid_steps");
    return new Box(record.floats("low"), record.floats("high"), record.integer("grid_steps"));
  }

  get dim(): number {
    return this.low.length;
  }

  /** An integer in 0 .. gridSteps for any input at all: NaN goes to the middle, infinities to the ends. */
  toGrid(value: number, coordinate: number): number {
    const position = (value - this.low[coordinate]!) / this.step[coordinate]!;
    if (Number.isNaN(position)) return Math.floor(this.gridSteps / 2);
    return Math.min(Math.max(Number.isFinite(position) ? rint(position) : position, 0), this.gridSteps);
  }

  /** Code units of a grid position, inside the box or not. */
  fromGrid(position: number, coordinate: number): number {
    return this.low[coordinate]! + this.step[coordinate]! * position;
  }
}
