// What every layer is: a function of one row in exact arithmetic.
// Sums are of whole numbers and never leave those that are exact, so Python's are the same; the rest says how it rounds.
// That they do not leave them is checked where the bundle is exported, not here.
import type { TensorReader } from "../tensors";

/** Values of one row; of a series (time, channel), the channel fastest. */
export type Row = Float64Array;
/** Of one row: [value] or, for a series, [time, channel]. */
export type Shape = readonly number[];

/** A layer ready to run on rows of a known shape. */
export interface Prepared {
  readonly run: (row: Row) => Row;
  readonly shape: Shape;
  /** Of the layer that decides: the code of scores. */
  readonly decide?: (scores: Row) => number;
}

/** One layer as it is stored: numbers, names of tensors, and layers inside it. */
export interface Fields {
  readonly op: string;
  readonly [field: string]: any;
}

/** Makes a layer of its fields, for rows of the given shape. */
export type Maker = (fields: Fields, tensors: TensorReader, given: Shape) => Prepared;

export function sizeOf(shape: Shape): number {
  return shape.reduce((product, axis) => product * axis, 1);
}
