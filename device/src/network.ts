// A network of a bundle: a list of layers in exact arithmetic, run row by row.
import { type Fields, type Prepared, type Row, sizeOf } from "./layers/layer";
import { chain } from "./layers/structure";
import type { TensorReader } from "./tensors";

/** Maps a row of `inputs` values to another; without layers, returns the row unchanged. */
export class Network {
  private readonly before: Prepared;
  private readonly last: Prepared | null;

  constructor(layers: readonly Fields[], tensors: TensorReader, inputs: number) {
    this.before = chain(layers.slice(0, -1), tensors, [inputs]);
    this.last = layers.length ? chain(layers.slice(-1), tensors, this.before.shape) : null;
  }

  get outputs(): number {
    return sizeOf((this.last ?? this.before).shape);
  }

  run(row: Row): Row {
    return this.last ? this.last.run(this.scores(row)) : row;
  }

  /** The code that the last layer chooses from scores; undefined if it is not a decision. */
  get decide(): Prepared["decide"] {
    return this.last?.decide;
  }

  /** The input of the last layer. */
  scores(row: Row): Row {
    return this.before.run(row.map(Math.fround));
  }
}
