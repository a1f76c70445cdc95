// Layers that multiply and add whole numbers: affine maps, convolution in time, spectra, statistics.
import { BundleError } from "../errors";
import type { Record } from "../record";
import type { Integers, TensorReader } from "../tensors";
import { type Layer, NEARLY, type Prepared, type Reach, type Row, bounded, flat, needsFloat64, series } from "./layer";

export const LARGEST_SHIFT = 64;
const PRODUCT = ["op", "weights", "bias", "bias_shift", "shift"];
const ONCE = { steps: 1, stride: 1, padding: 0 };

/** Whole weights (…, output) and a bias; what they sum up to for an output is multiplied by a power of two. */
interface Product {
  readonly weights: Integers;
  readonly bias: Float64Array;
  readonly factors: Float64Array;
}

function readProduct(fields: Record, tensors: TensorReader, axes: number): Product {
  const weights = tensors.integers(fields.text("weights"), axes);
  const [bias, shift] = [tensors.integers(fields.text("bias")).values, tensors.integers(fields.text("shift")).values];
  const [biasShift, outputs] = [fields.integer("bias_shift"), weights.shape.at(-1)];
  if (bias.length !== outputs || shift.length !== outputs) {
    throw new BundleError("a layer needs a bias and a shift for each of its outputs; train again");
  }
  if (![biasShift, ...shift].every((each) => Math.abs(each) <= LARGEST_SHIFT) || biasShift < 0) {
    throw new BundleError(`a layer shifts by more than ${LARGEST_SHIFT} binary digits; train again`);
  }
  const factors = new Float64Array(shift).map((each) => 2 ** -each);
  return { weights, bias: new Float64Array(bias).map((value) => value * 2 ** biasShift), factors };
}

/** x W + b; weights is (input, output). */
export function affine(fields: Record, tensors: TensorReader): Layer {
  const product = readProduct(fields.only(...PRODUCT), tensors, 2);
  const [inputs, outputs] = product.weights.shape as [number, number];
  return (given) => {
    if (flat(given, "affine") !== inputs) {
      throw new BundleError(`layer affine: ${inputs} × ${outputs} weights do not fit; train again`);
    }
    const { run, reach, work } = inSteps(product, { ...given, shape: [1, inputs] }, "affine");
    return { run, reach: { ...reach, shape: [outputs] }, work: work + outputs };
  };
}

/** Convolution in time with zero padding; weights is (time, input channel, output channel). */
export function convolution(fields: Record, tensors: TensorReader): Layer {
  const product = readProduct(fields.only(...PRODUCT, "stride", "padding"), tensors, 3);
  const [stride, padding] = [fields.integer("stride"), fields.integer("padding")];
  const [width, inputs, outputs] = product.weights.shape as [number, number, number];
  return (given) => {
    const [length, channels] = series(given, "convolution");
    const padded = length + 2 * padding;
    const fits = channels === inputs && padding >= 0 && padding < width && width <= padded;
    if (!fits || stride < 1 || stride > padded) {
      throw new BundleError(`layer convolution: a kernel of ${width} × ${inputs} × ${outputs} does not fit; train again`);
    }
    const steps = Math.floor((padded - width) / stride) + 1;
    bounded([steps, width * (inputs + 1)], "convolution");
    bounded([steps, outputs], "convolution");
    return inSteps(product, given, "convolution", { steps, stride, padding });
  };
}

/** One product for each step in time of a series. */
function inSteps(product: Product, given: Reach, op: string, { steps, stride, padding } = ONCE): Prepared {
  const { weights: { values }, bias, factors } = product;
  const [outputs, seen, inputs] = [bias.length, values.length / bias.length, given.shape[1]!];
  const largest = new Float64Array(inputs); // of each channel at any time
  given.most.forEach((most, at) => (largest[at % inputs] = Math.max(largest[at % inputs]!, most)));
  const [matrix, sums] = [new Float64Array(values.length), bias.map(Math.abs)];
  for (let at = 0; at < values.length; at += 1) {
    const input = Math.floor(at / outputs);
    matrix[(at % outputs) * seen + input] = values[at]!;
    sums[at % outputs]! += Math.abs(values[at]!) * largest[input % inputs]!;
  }
  const wide = needsFloat64(sums, given, op);

  function run(row: Row): Row {
    const padded = new Float64Array(row.length + 2 * padding * inputs);
    padded.set(row, padding * inputs);
    const result = new Float64Array(steps * outputs);
    for (let step = 0; step < steps; step += 1) {
      const found = times(matrix, padded, step * stride * inputs, bias);
      for (let at = 0; at < outputs; at += 1) result[step * outputs + at] = found[at]! * factors[at]!;
    }
    return result;
  }

  const most = new Float64Array(steps * outputs).map((_, at) => sums[at % outputs]! * factors[at % outputs]!);
  const reach = { shape: [steps, outputs], most, whole: factors.every((factor) => factor >= 1), wide };
  return { run, reach, work: steps * values.length + given.most.length + 2 * padding * inputs };
}

/** A matrix (output, input) times the values of a row from a place on, plus bias. */
function times(matrix: Float64Array, row: Row, start: number, bias: Float64Array): Float64Array {
  const [sums, inputs] = [new Float64Array(bias.length), matrix.length / bias.length];
  for (let output = 0, at = 0; output < sums.length; output += 1) {
    let [even, odd, from] = [bias[output]!, 0, start]; // two sums at a time take half as long as one
    for (; from < start + inputs - 1; from += 2, at += 2) {
      even += matrix[at]! * row[from]!;
      odd += matrix[at + 1]! * row[from + 1]!;
    }
    sums[output] = even + odd + (inputs % 2 ? matrix[at++]! * row[from]! : 0);
  }
  return sums;
}

/** (time, channel) to magnitudes of the Fourier transform, flat as (frequency, channel), times 2^-shift.
 * `cosine` and `sine` hold one turn each. Squares, their sum and its root are each rounded to float32. */
export function spectrum(fields: Record, tensors: TensorReader): Layer {
  fields.only("op", "cosine", "sine", "shift");
  const waves = ["cosine", "sine"].map((name) => tensors.integers(fields.text(name)).values);
  const shift = fields.integer("shift");
  return (given) => {
    const [samples, channels] = series(given, "spectrum");
    if (waves.some((wave) => wave.length !== samples) || Math.abs(shift) > LARGEST_SHIFT) {
      throw new BundleError(`layer spectrum: its waves do not fit ${samples} samples; train again`);
    }
    const [frequencies, factor] = [Math.floor(samples / 2) + 1, 2 ** -shift];
    bounded([2 * frequencies, samples], "spectrum");
    const shape = bounded([frequencies * channels], "spectrum");
    const matrix = new Float64Array(2 * frequencies * samples).map((_, at) => {
      const line = Math.floor(at / samples);
      return waves[Math.floor(line / frequencies)]![((line % frequencies) * (at % samples)) % samples]!;
    });

    const none = new Float64Array(2 * frequencies);

    function magnitudes(row: Row, sumsOf: (column: Row) => Row, magnitude: (real: number, imaginary: number) => number): Row {
      return byChannel(row, channels, (column) => {
        const sums = sumsOf(column);
        return sums.subarray(0, frequencies).map((real, at) => magnitude(real, sums[frequencies + at]!));
      });
    }
    function rounded(real: number, imaginary: number): number {
      const [a, b] = [Math.fround(real * factor), Math.fround(imaginary * factor)];
      return Math.fround(Math.sqrt(Math.fround(Math.fround(a * a) + Math.fround(b * b))));
    }
    const lines = times(matrix.map(Math.abs), new Float64Array(samples).fill(1), 0, none);
    const largest = (column: Row): Row => lines.map((line) => line * column.reduce(larger));
    needsFloat64(largest(given.most), given, "spectrum");
    const most = magnitudes(given.most, largest, (a, b) => Math.sqrt(a * a + b * b) * factor * NEARLY);
    const run = (row: Row): Row => magnitudes(row, (column) => times(matrix, column, 0, none), rounded);
    return { run, reach: { shape, most, whole: false, wide: false }, work: matrix.length * channels };
  };
}

/** (time, channel) to the channels' means, standard deviations, least and largest values, in this order.
 * From exact sums of values and of squares, in float64 until each is rounded to float32. */
export function statistics(fields: Record): Layer {
  fields.only("op");
  return (given) => {
    const [samples, channels] = series(given, "statistics");
    const shape = bounded([4 * channels], "statistics");
    const most = byChannel(given.most, channels, (column) => new Float64Array(4).fill(column.reduce(larger)));
    needsFloat64(most.map((value) => samples * (samples * value ** 2)), given, "statistics");
    const reach = { shape, most: most.map((value) => value * NEARLY), whole: false, wide: false };
    return { run: (row) => byChannel(row, channels, summary), reach, work: 4 * samples * channels };
  };
}

function summary(column: Row): Row {
  const total = column.reduce((sum, value) => sum + value, 0);
  const squares = column.reduce((sum, value) => sum + value * value, 0);
  const deviation = Math.sqrt(squares * column.length - total * total) / column.length;
  return Float64Array.of(total / column.length, deviation, column.reduce(smaller), column.reduce(larger)).map(Math.fround);
}

const smaller = (a: number, b: number): number => Math.min(a, b);
const larger = (a: number, b: number): number => Math.max(a, b);

/** What each channel of a series becomes, (value, channel). */
function byChannel(row: Row, channels: number, become: (column: Row) => Row): Row {
  const column = new Float64Array(row.length / channels);
  const columns = Array.from({ length: channels }, (_, channel) => {
    return become(column.map((_, time) => row[time * channels + channel]!));
  });
  return new Float64Array(channels * columns[0]!.length).map((_, at) => columns[at % channels]![Math.floor(at / channels)]!);
}
