// The public windows of a channel: a table with one row per index that it can release.
import { InputError } from "./errors";
import type { Integers } from "./tensors";

const STEPS = 1 << 15; // of the public range

/** Maps released indices to scaled windows in [0, 1]; steps is (index, value), 0 to STEPS. */
export class OutputTable {
  constructor(private readonly steps: Integers) {}

  run(index: Float64Array): Float64Array {
    const [row, [rows, outputs]] = [index[0]!, this.steps.shape as [number, number]];
    if (!Number.isInteger(row) || row < 0 || row >= rows)
      throw new InputError("the bundle does not have this public window");
    return Float64Array.from(this.steps.values.subarray(row * outputs, (row + 1) * outputs), (step) => step / STEPS);
  }
}
