// A network of a bundle: a list of layers in exact arithmetic, run row by row.
import { BundleError } from "./errors";
import type { Json } from "./json";
import { type Layer, type Prepared, type Row, anything, chain } from "./layers/layer";
import { readLayers } from "./layers/reading";
import type { TensorReader } from "./tensors";

const MOST_WORK = 2 ** 25; // for one row: a bundle must not stop the browser

/** A row of `inputs` values to one of `outputs`; without layers, the row itself, in its own precision. */
export class Network {
  readonly outputs: number;
  private readonly before: Prepared;
  private readonly last: Prepared | null;

  private constructor(layers: readonly Layer[], readonly inputs: number) {
    this.before = chain(layers.slice(0, -1))(anything(inputs)); // what does not fit is refused before a run
    this.last = layers.at(-1)?.(this.before.reach) ?? null;
    this.outputs = (this.last ?? this.before).reach.most.length;
    if (this.before.work + (this.last?.work ?? 0) > MOST_WORK) {
      throw new BundleError(`a network takes more than ${MOST_WORK} multiplications for one window; train again`);
    }
  }

  static read(listed: Json | undefined, tensors: TensorReader, inputs: number): Network {
    return new Network(readLayers(listed, tensors), inputs);
  }

  get isEmpty(): boolean {
    return !this.last;
  }

  run(row: Float64Array): Float64Array {
    return this.last ? this.last.run(this.scores(row)) : row;
  }

  /** The code of scores, where the last layer decides for one. */
  get decide(): Prepared["decide"] {
    return this.last?.decide;
  }

  /** What the last layer is given. */
  scores(row: Float64Array): Row {
    return this.before.run(row.map(Math.fround));
  }
}
