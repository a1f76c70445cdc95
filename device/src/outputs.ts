// The public windows of a channel: a table of numbers, one row for each index that it can release.
import { BundleError, InputError } from "./errors";
import type { Record } from "./record";
import type { Integers, TensorReader } from "./tensors";

const STEPS = 1 << 15; // of the public range

/** Released indices to scaled windows in [0, 1]; steps is (index, value), 0 to STEPS. */
export class OutputTable {
  readonly inputs = 1;

  private constructor(private readonly steps: Integers) {
    if (!steps.values.every((value) => value >= 0 && value <= STEPS)) {
      throw new BundleError("a released window has values outside the public range; train again");
    }
  }

  static read(fields: Record, tensors: TensorReader): OutputTable {
    return new OutputTable(tensors.integers(fields.only("outputs").text("outputs"), 2));
  }

  get rows(): number {
    return this.steps.shape[0]!;
  }

  get outputs(): number {
    return this.steps.shape[1]!;
  }

  run(index: Float64Array): Float64Array {
    const row = index[0]!;
    if (!Number.isInteger(row) || row < 0 || row >= this.rows) throw new InputError("no such public window");
    return Float64Array.from(this.steps.values.subarray(row * this.outputs, (row + 1) * this.outputs), (step) => step / STEPS);
  }
}
