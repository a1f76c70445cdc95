// The interface of layers: a function of one row in exact arithmetic.
// Sums are sums of integers small enough to be exact, so they equal Python's; every other step states how it rounds.
// `export` checks the sizes, so they are not checked here.
import type { TensorReader } from "../tensors";

/** The values of one row; those of a series are (time, channel), channel fastest. */
export type Row = Float64Array;
/** The shape of one row: [value] or, for a series, [time, channel]. */
export type Shape = readonly number[];

/** A layer ready to run on rows of a known shape. */
export interface Prepared {
  readonly run: (row: Row) => Row;
  readonly shape: Shape;
  /** Chooses a code from scores; only the deciding layer has it. */
  readonly decide?: (scores: Row) => number;
}

/** One layer as it is stored: numbers, names of tensors, and layers inside it. */
export interface Fields {
  readonly op: string;
  readonly [field: string]: any;
}

/** Makes a layer from its fields, for rows of the given shape. */
export type Maker = (fields: Fields, tensors: TensorReader, given: Shape) => Prepared;

export function sizeOf(shape: Shape): number {
  return shape.reduce((product, axis) => product * axis, 1);
}
