// What every layer is: a pure function of one row, whose shapes are known before anything is computed.
import { BundleError } from "../errors";

/** Of one row: [value] or, for a series, [time, channel]. */
export type Shape = readonly number[];

/** One row in, one row out; series are flat with the channel fastest. */
export interface Layer {
  readonly op: string;
  /** The shape of a result; a BundleError where rows of the given shape do not fit. */
  shape(given: Shape): Shape;
  run(row: Float32Array, given: Shape): Float32Array;
}

export const MOST_VALUES = 1 << 20; // of one row anywhere in a network: what a layer may ask memory for

/** The number of values of a flat row. */
export function flat(given: Shape, op: string): number {
  if (given.length !== 1) throw new BundleError(`layer ${op} takes flat rows, not series`);
  return given[0]!;
}

/** [time, channel] of a series. */
export function series(given: Shape, op: string): [number, number] {
  if (given.length !== 2) throw new BundleError(`layer ${op} takes series, not flat rows`);
  return [given[0]!, given[1]!];
}

/** The shape, refused where one row of it would ask for too much memory. */
export function bounded(shape: Shape, op: string): Shape {
  if (Math.min(...shape) < 1 || size(shape) > MOST_VALUES) {
    throw new BundleError(`layer ${op} makes rows of no value or of more than ${MOST_VALUES}; train again`);
  }
  return shape;
}

export function size(shape: Shape): number {
  return shape.reduce((product, axis) => product * axis, 1);
}

/** Layers one after another; their shapes are worked out once, when the network is read. */
export class Chain {
  private shapes: readonly Shape[] = [];

  constructor(readonly layers: readonly Layer[]) {}

  /** The shape of a row after all layers. */
  shape(given: Shape): Shape {
    const shapes = [given];
    for (const layer of this.layers) shapes.push(layer.shape(shapes.at(-1)!));
    this.shapes = shapes;
    return shapes.at(-1)!;
  }

  /** The row after the first `count` layers. */
  run(row: Float32Array, count = this.layers.length): Float32Array {
    return this.layers.slice(0, count).reduce((values, layer, at) => layer.run(values, this.shapes[at]!), row);
  }
}
