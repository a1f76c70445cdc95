// What every layer is: a function of one row in exact arithmetic, whose bounds are known before anything is computed.
// Sums are of whole numbers and never leave those that are exact, so Python's are the same; the rest says how it rounds.
import { BundleError } from "../errors";

/** Values of one row; of a series (time, channel), the channel fastest. */
export type Row = Float64Array;

/** What the values of a row can be: at most so large, without their sign, whole or not, and float64 or float32. */
export interface Reach {
  readonly shape: readonly number[];
  readonly most: Float64Array;
  readonly whole: boolean;
  readonly wide: boolean;
}

/** A layer ready to run on rows of a known reach: what it does, what comes out, about how many multiplications. */
export interface Prepared {
  readonly run: (row: Row) => Row;
  readonly reach: Reach;
  readonly work: number;
  /** Of the layer that decides: the code of scores that are sums over so many windows. */
  readonly decide?: (scores: Row, windows: number) => number;
}

/** Prepares itself for rows of the given reach; a BundleError where they do not fit, or where a sum could be inexact. */
export type Layer = (given: Reach) => Prepared;

const MOST_VALUES = 1 << 20; // of one row anywhere in a network: what a layer may ask memory for
export const EXACT_FLOAT32 = 2 ** 24;
const EXACT_FLOAT64 = 2 ** 52;
const LARGEST = 2 ** 62; // squares of what is below stay in float32; what is not could be infinite, or no number
export const NEARLY = 1 + 1e-6; // covers what rounding to float32 adds

/** Of what comes from outside. */
export function anything(values: number): Reach {
  const shape = bounded([values], "input");
  return { shape, most: new Float64Array(values).fill(Infinity), whole: false, wide: false };
}

/** All layers in turn as one. */
export function chain(layers: readonly Layer[]): Layer {
  return (given) => {
    let [reach, work] = [given, 0];
    const runs = layers.map((layer) => {
      const each = layer(reach);
      reach = { ...each.reach, most: each.reach.most.map((most) => (most < LARGEST ? most : Infinity)) };
      work += each.work;
      return each.run;
    });
    return { run: (row) => runs.reduce((values, run) => run(values), row), reach, work };
  };
}

/** Whether sums of what is given, at most so large, are exact in float64 alone; refused where not even there. */
export function needsFloat64(sums: Float64Array, { whole }: Reach, op: string): boolean {
  if (!whole) throw new BundleError(`layer ${op}: what it adds up is not rounded to whole numbers; train again`);
  if (!sums.every((sum) => sum < EXACT_FLOAT64)) {
    throw new BundleError(`layer ${op}: its sums could exceed the whole numbers that are exact; train again`);
  }
  return sums.some((sum) => sum >= EXACT_FLOAT32);
}

/** Values that stand beside others, or are added to them one by one, are in float32 everywhere. */
export function requireFloat32({ wide, whole, most }: Reach, op: string): void {
  if (wide || (whole && !most.every((value) => value < EXACT_FLOAT32))) {
    throw new BundleError(`layer ${op}: what it takes is larger than float32 holds exactly; train again`);
  }
}

/** The number of values of a flat row. */
export function flat({ shape }: Reach, op: string): number {
  if (shape.length !== 1) throw new BundleError(`layer ${op} takes flat rows, not series`);
  return shape[0]!;
}

/** [time, channel] of a series. */
export function series({ shape }: Reach, op: string): [number, number] {
  if (shape.length !== 2) throw new BundleError(`layer ${op} takes series, not flat rows`);
  return [shape[0]!, shape[1]!];
}

/** The shape, refused where one row of it would ask for too much memory. */
export function bounded(shape: readonly number[], op: string): readonly number[] {
  if (Math.min(...shape) < 1 || shape.reduce((product, axis) => product * axis, 1) > MOST_VALUES) {
    throw new BundleError(`layer ${op} makes rows of no value or of more than ${MOST_VALUES}; train again`);
  }
  return shape;
}
