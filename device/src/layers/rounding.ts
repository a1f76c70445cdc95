// Layers that round: values one by one onto whole numbers between stated bounds, or through a table of them.
import { BundleError } from "../errors";
import type { Record } from "../record";
import { rint } from "../rounding";
import type { TensorReader } from "../tensors";
import { EXACT_FLOAT32, type Layer, type Row, bounded, flat } from "./layer";
import { LARGEST_SHIFT } from "./products";

/** Whole numbers between which rounded values are clipped; float32 holds all of them. */
class Bounds {
  readonly most: number;

  constructor(readonly low: number, readonly high: number) {
    if (!(-EXACT_FLOAT32 < low && low < high && high < EXACT_FLOAT32)) {
      throw new BundleError(`a layer clips to [${low}, ${high}], which is no range below 2^24; train again`);
    }
    this.most = Math.max(-low, high);
  }

  /** The nearest whole number, of two the even one; what is no number counts as 0. */
  rounded(value: number): number {
    return rint(Math.min(Math.max(Number.isNaN(value) ? 0 : value, this.low), this.high));
  }
}

/** (x − shift · 2^-shift_scale) · factor · 2^-factor_scale, rounded and clipped; each step in float32.
 * Tensors are (copy, value): each copy of a value has a ramp of its own; the result is flat, value fastest. */
export function quantise(fields: Record, tensors: TensorReader): Layer {
  fields.only("op", "shift", "shift_scale", "factor", "factor_scale", "low", "high");
  const [shift, factor] = [tensors.integers(fields.text("shift"), 2), tensors.integers(fields.text("factor"), 2)];
  const [copies, values] = shift.shape as [number, number];
  const starts = scaled(shift.values, fields.integer("shift_scale"));
  const slopes = scaled(factor.values, fields.integer("factor_scale"));
  const bounds = new Bounds(fields.integer("low"), fields.integer("high"));
  return (given) => {
    if (flat(given, "quantise") !== values || String(factor.shape) !== String(shift.shape) || slopes.includes(0)) {
      throw new BundleError(`layer quantise: ${copies} × ${values} factors do not fit; train again`);
    }
    const shape = bounded([copies * values], "quantise");
    const moved = (row: Row, at: number): number => Math.fround(Math.fround(row[at % values]!) - starts[at]!);
    const run = (row: Row): Row => slopes.map((slope, at) => bounds.rounded(Math.fround(moved(row, at) * slope)));
    const most = new Float64Array(copies * values).fill(bounds.most);
    return { run, reach: { shape, most, whole: true, wide: false }, work: 4 * copies * values };
  };
}

/** To the nearest whole number, clipped; with a lower bound of 0 it is a rectifier, too. */
export function round(fields: Record): Layer {
  fields.only("op", "low", "high");
  const bounds = new Bounds(fields.integer("low"), fields.integer("high"));
  return ({ shape, most }) => {
    const clipped = most.map((value) => Math.floor(Math.min(value + 1, bounds.most)));
    const reach = { shape, most: clipped, whole: true, wide: false };
    return { run: (row) => row.map((value) => bounds.rounded(value)), reach, work: 3 * most.length };
  };
}

/** Rounded, and looked up: the first of the values stands for `low` and whatever is below it, the last for the rest. */
export function table(fields: Record, tensors: TensorReader): Layer {
  const { values } = tensors.integers(fields.only("op", "values", "low").text("values"));
  const [low, bounds] = [fields.integer("low"), new Bounds(fields.integer("low"), fields.integer("low") + values.length - 1)];
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return ({ shape, most }) => {
    const reach = { shape, most: most.map(() => largest), whole: true, wide: false };
    return { run: (row) => row.map((value) => values[bounds.rounded(value) - low]!), reach, work: 5 * most.length };
  };
}

/** Times 2^-shift, which is exact: the way from whole numbers to the units of a feature or a window. */
export function scale(fields: Record): Layer {
  const [factor] = scaled([1], fields.only("op", "shift").integer("shift"));
  return ({ shape, most, wide }) => {
    const times = (value: number): number => (wide ? value * factor! : Math.fround(value * factor!));
    const reach = { shape, most: most.map((value) => value * factor!), whole: false, wide };
    return { run: (row) => row.map(times), reach, work: most.length };
  };
}

/** The values times 2^-power. */
function scaled(values: ArrayLike<number>, power: number): Float64Array {
  if (Math.abs(power) > LARGEST_SHIFT) throw new BundleError(`a layer has a scale beyond 2^${LARGEST_SHIFT}; train again`);
  return new Float64Array(values).map((value) => value * 2 ** -power);
}
