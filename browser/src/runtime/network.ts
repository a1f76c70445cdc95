// A network of a bundle: a list of layers, run row by row in float32.
import type { Json } from "./json";
import { Argmax } from "./layers/decision";
import { type Chain, bounded, size } from "./layers/layer";
import { readLayers } from "./layers/reading";
import type { TensorReader } from "./tensors";

/** A row of `inputs` values to one of `outputs`; without layers, the row itself, in its own precision. */
export class Network {
  readonly outputs: number;

  private constructor(private readonly chain: Chain, readonly inputs: number) {
    this.outputs = size(chain.shape(bounded([inputs], "input"))); // shapes that do not fit are refused before a run
  }

  static read(listed: Json | undefined, tensors: TensorReader, inputs: number): Network {
    return new Network(readLayers(listed, tensors), inputs);
  }

  get isEmpty(): boolean {
    return !this.chain.layers.length;
  }

  run(row: Float64Array): Float64Array {
    return this.isEmpty ? row : Float64Array.from(this.chain.run(Float32Array.from(row)));
  }

  /** The last layer, where it is the one that decides for a code. */
  get decision(): Argmax | null {
    const last = this.chain.layers.at(-1);
    return last instanceof Argmax ? last : null;
  }

  /** What the decision is made from. */
  scores(row: Float64Array): Float32Array {
    return this.chain.run(Float32Array.from(row), this.chain.layers.length - 1);
  }
}
