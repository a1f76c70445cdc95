// Activations: one value in, one value out.
import { BundleError } from "../errors";
import type { Record } from "../record";
import type { Layer, Shape } from "./layer";

const FUNCTIONS = new Map<string, (value: number) => number>([
  ["relu", (value) => (value < 0 ? 0 : value)],
  ["tanh", Math.tanh],
  ["sigmoid", (value) => 1 / (1 + Math.exp(-value))],
  ["clip", (value) => (value < 0 ? 0 : value > 1 ? 1 : value)],
]);

/** relu, tanh, sigmoid, or clip to [0, 1]; what is no number stays none. */
export class Activation implements Layer {
  readonly op = "activation";

  private constructor(private readonly of: (value: number) => number) {}

  static read(fields: Record): Activation {
    const found = FUNCTIONS.get(fields.only("op", "function").text("function"));
    if (!found) throw new BundleError(`layer activation: the function is none of ${[...FUNCTIONS.keys()].join(", ")}`);
    return new Activation(found);
  }

  shape(given: Shape): Shape {
    return given;
  }

  run(row: Float32Array): Float32Array {
    return row.map(this.of);
  }
}
