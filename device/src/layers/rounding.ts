// Layers that round: each value to an integer between stated bounds, or through a table.
import { rint } from "../rounding";
import type { TensorReader } from "../tensors";
import type { Fields, Prepared, Row, Shape } from "./layer";

/** The nearest integer between bounds, ties to even; NaN counts as 0. */
export function clipped(value: number, low: number, high: number): number {
  if (value !== value) value = 0;
  return rint(value < low ? low : value > high ? high : value);
}

/** (x − shift · 2^-shift_scale) · factor · 2^-factor_scale, rounded and clipped; each step in float32.
 * Tensors are (copy, value): each copy of a value has a ramp of its own; the result is flat, value fastest. */
export function quantise({ low, high, ...fields }: Fields, tensors: TensorReader): Prepared {
  const [shift, factor] = [tensors.integers(fields.shift), tensors.integers(fields.factor)];
  const [starts, slopes] = [scaled(shift.values, fields.shift_scale), scaled(factor.values, fields.factor_scale)];
  const values = shift.shape[1]!;
  const run = (row: Row): Row => {
    const result = new Float64Array(slopes.length);
    for (let at = 0; at < slopes.length; at += 1) {
      const moved = Math.fround(Math.fround(row[at % values]!) - starts[at]!);
      result[at] = clipped(Math.fround(moved * slopes[at]!), low, high);
    }
    return result;
  };
  return { run, shape: [slopes.length] };
}

/** Rounds to the nearest integer and clips; with a lower bound of 0 it is also a rectifier. */
export function round({ low, high }: Fields, _: TensorReader, shape: Shape): Prepared {
  const run = (row: Row): Row => {
    const result = new Float64Array(row.length);
    for (let at = 0; at < row.length; at += 1) result[at] = clipped(row[at]!, low, high);
    return result;
  };
  return { run, shape };
}

/** Rounded, and looked up: the first of the values stands for `low` and whatever is below it, the last for the rest. */
export function table({ low, ...fields }: Fields, tensors: TensorReader, shape: Shape): Prepared {
  const { values } = tensors.integers(fields.values);
  const high = low + values.length - 1;
  return { run: (row) => row.map((value) => values[clipped(value, low, high) - low]!), shape };
}

/** Multiplies by 2^-shift, from integers to the units of a feature or window; exact in float32's normal range. */
export function scale({ shift }: Fields, _: TensorReader, shape: Shape): Prepared {
  const scaled = (value: number): number => {
    const [exact, narrow] = [value * 2 ** -shift, Math.fround(value * 2 ** -shift)];
    return Math.abs(narrow) < 2 ** -126 || Math.abs(narrow) === Infinity ? narrow : exact;
  };
  return { run: (row) => row.map(scaled), shape };
}

/** The values times 2^-power. */
function scaled(values: ArrayLike<number>, power: number): Float64Array {
  return Float64Array.from(values, (value) => value * 2 ** -power);
}
