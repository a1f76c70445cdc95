// Layers that multiply and add integers: affine maps, convolution in time, spectra, statistics.
import type { Numbers, TensorReader } from "../tensors";
import type { Fields, Prepared, Row, Shape } from "./layer";

/** x W + b; weights is (input, output). */
export function affine(fields: Fields, tensors: TensorReader, given: Shape): Prepared {
  const { run, shape } = convolution({ ...fields, stride: 1, padding: 0 }, tensors, [1, given[0]!]);
  return { run, shape: [shape[1]!] };
}

/** Convolution in time with zero padding; weights is (time, input channel, output channel). What they sum up to for an
 * output is multiplied by a power of two. */
export function convolution({ stride, padding, ...fields }: Fields, tensors: TensorReader, given: Shape): Prepared {
  const [length, inputs] = given as [number, number];
  const bias = Float64Array.from(tensors.integers(fields.bias).values, (value) => value * 2 ** fields.bias_shift);
  const factors = Float64Array.from(tensors.integers(fields.shift).values, (shift) => 2 ** -shift);
  const matrix = transposed(tensors.integers(fields.weights).values, bias.length);
  const [outputs, seen] = [bias.length, matrix.length / bias.length];
  const steps = Math.floor((length + 2 * padding - seen / inputs) / stride) + 1;

  function run(row: Row): Row {
    const [padded, result] = [new Float64Array(row.length + 2 * padding * inputs), new Float64Array(steps * outputs)];
    padded.set(row, padding * inputs);
    for (let step = 0; step < steps; step += 1) {
      const start = step * stride * inputs;
      for (let output = 0; output < outputs; output += 1) {
        const sum = bias[output]! + product(matrix, output * seen, padded, start, seen);
        result[step * outputs + output] = sum * factors[output]!;
      }
    }
    return result;
  }

  return { run, shape: [steps, outputs] };
}

/** Transposes a matrix (input, output) to (output, input). */
function transposed(values: Numbers, outputs: number): Numbers {
  const [matrix, inputs] = [values.slice(), values.length / outputs];
  for (let at = 0; at < values.length; at += 1)
    matrix[(at % outputs) * inputs + Math.floor(at / outputs)] = values[at]!;
  return matrix;
}

/** The sum of `count` products of neighbours; four at a time, because a step of the loop costs as much as a product. */
function product(left: ArrayLike<number>, from: number, right: Float64Array, start: number, count: number): number {
  let [sum, at, place] = [0, from, start];
  const end = from + count;
  for (; at + 3 < end; at += 4, place += 4) {
    sum +=
      left[at]! * right[place]! +
      left[at + 1]! * right[place + 1]! +
      left[at + 2]! * right[place + 2]! +
      left[at + 3]! * right[place + 3]!;
  }
  for (; at < end; at += 1, place += 1) sum += left[at]! * right[place]!;
  return sum;
}

/** Maps (time, channel) to magnitudes of the Fourier transform, flat as (frequency, channel), times 2^-shift.
 * `cosine` and `sine` hold one turn each. Squares, their sum and its root are each rounded to float32. */
export function spectrum(fields: Fields, tensors: TensorReader, given: Shape): Prepared {
  const [cosine, sine] = [tensors.integers(fields.cosine).values, tensors.integers(fields.sine).values];
  const [[samples, channels], factor] = [given as [number, number], 2 ** -fields.shift];
  const frequencies = Math.floor(samples / 2) + 1;
  const waves = [cosine, sine].map((turn) => {
    const matrix = new Int32Array(frequencies * samples); // signed or not, 16 bits fit
    for (let at = 0; at < matrix.length; at += 1)
      matrix[at] = turn[(Math.floor(at / samples) * (at % samples)) % samples]!;
    return matrix;
  }) as [Int32Array, Int32Array];

  function run(row: Row): Row {
    const result = new Float64Array(frequencies * channels);
    for (let channel = 0; channel < channels; channel += 1) {
      const column = columnOf(row, channel, channels);
      for (let frequency = 0; frequency < frequencies; frequency += 1) {
        const start = frequency * samples;
        const real = Math.fround(product(waves[0], start, column, 0, samples) * factor);
        const imaginary = Math.fround(product(waves[1], start, column, 0, samples) * factor);
        const squares = Math.fround(Math.fround(real * real) + Math.fround(imaginary * imaginary));
        result[frequency * channels + channel] = Math.fround(Math.sqrt(squares));
      }
    }
    return result;
  }

  return { run, shape: [frequencies * channels] };
}

/** Maps (time, channel) to the channels' means, standard deviations, minima and maxima, in this order.
 * From exact sums of values and of squares, in float64 until each is rounded to float32. */
export function statistics(_: Fields, __: TensorReader, given: Shape): Prepared {
  const channels = given[1]!;

  function run(row: Row): Row {
    const result = new Float64Array(4 * channels);
    for (let channel = 0; channel < channels; channel += 1) {
      summary(columnOf(row, channel, channels)).forEach(
        (value, at) => (result[at * channels + channel] = Math.fround(value)),
      );
    }
    return result;
  }

  return { run, shape: [4 * channels] };
}

function summary(column: Row): number[] {
  let [total, squares, least, most] = [0, 0, Infinity, -Infinity];
  for (const value of column) {
    total += value;
    squares += value * value;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return [total / column.length, Math.sqrt(squares * column.length - total * total) / column.length, least, most];
}

function columnOf(row: Row, channel: number, channels: number): Row {
  const column = new Float64Array(row.length / channels);
  for (let time = 0; time < column.length; time += 1) column[time] = row[time * channels + channel]!;
  return column;
}
