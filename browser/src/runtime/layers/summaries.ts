// Layers that sum up a series: statistics, spectrum, and the piecewise linear encoding of numbers.
import { BundleError } from "../errors";
import type { Record } from "../record";
import type { Floats, TensorReader } from "../tensors";
import { type Layer, type Shape, bounded, flat, series } from "./layer";

const TINY = Math.fround(1e-6); // under roots, so that training has a slope at zero
const MOST_PRODUCTS = 2 ** 28; // of one spectrum: a bundle must not stop the browser

/** (time, channel) to the channels' means, standard deviations, least and largest values, in this order. */
export class Statistics implements Layer {
  readonly op = "statistics";

  static read(fields: Record): Statistics {
    fields.only("op");
    return new Statistics();
  }

  shape(given: Shape): Shape {
    return bounded([4 * series(given, this.op)[1]], this.op);
  }

  run(row: Float32Array, given: Shape): Float32Array {
    const [, channels] = series(given, this.op);
    const columns = Array.from({ length: channels }, (_, channel) => row.filter((_, at) => at % channels === channel));
    const means = columns.map(mean);
    const deviations = columns.map((column, channel) => {
      return Math.sqrt(mean(column.map((value) => (value - means[channel]!) ** 2)) + TINY);
    });
    const least = columns.map((column) => column.reduce((a, b) => Math.min(a, b)));
    const largest = columns.map((column) => column.reduce((a, b) => Math.max(a, b)));
    return Float32Array.from([...means, ...deviations, ...least, ...largest]);
  }
}

function mean(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** (time, channel) to magnitudes of the Fourier transform over √time, flat as (frequency, channel). */
export class Spectrum implements Layer {
  readonly op = "spectrum";

  static read(fields: Record): Spectrum {
    fields.only("op");
    return new Spectrum();
  }

  shape(given: Shape): Shape {
    const [samples, channels] = series(given, this.op);
    const frequencies = Math.floor(samples / 2) + 1;
    if (samples * frequencies * channels > MOST_PRODUCTS) {
      throw new BundleError(`layer ${this.op}: the window is too long for a browser; use a shorter one`);
    }
    return bounded([frequencies * channels], this.op);
  }

  run(row: Float32Array, given: Shape): Float32Array {
    const [samples, channels] = series(given, this.op);
    const [cosines, sines] = turns(samples);
    const result = new Float32Array((Math.floor(samples / 2) + 1) * channels);
    for (let at = 0; at < result.length; at += 1) {
      const [frequency, channel] = [Math.floor(at / channels), at % channels];
      let [real, imaginary] = [0, 0];
      for (let time = 0; time < samples; time += 1) {
        const value = row[time * channels + channel]!;
        const turn = (time * frequency) % samples;
        real += value * cosines[turn]!;
        imaginary += value * sines[turn]!;
      }
      result[at] = Math.sqrt((real * real + imaginary * imaginary) / samples + TINY);
    }
    return result;
  }
}

/** Cosine and sine of every part of a turn. */
function turns(parts: number): [Float64Array, Float64Array] {
  const angles = Float64Array.from({ length: parts }, (_, part) => (2 * Math.PI * part) / parts);
  return [angles.map(Math.cos), angles.map(Math.sin)];
}

/** How far each value has come through each of its bins, 0 to 1: (value,) to (bin, value), flat. */
export class PiecewiseLinear implements Layer {
  readonly op = "piecewise linear";

  private constructor(private readonly low: Floats, private readonly width: Floats) {}

  static read(fields: Record, tensors: TensorReader): PiecewiseLinear {
    fields.only("op", "low", "width");
    return new PiecewiseLinear(tensors.floats(fields.text("low"), 2), tensors.floats(fields.text("width"), 2));
  }

  shape(given: Shape): Shape {
    const [bins, values] = this.low.shape as [number, number];
    const alike = this.width.shape[0] === bins && this.width.shape[1] === values;
    if (flat(given, this.op) !== values || !alike || !this.width.values.every((width) => width > 0)) {
      throw new BundleError(`layer ${this.op}: ${bins} × ${values} bins do not fit; train again`);
    }
    return bounded([bins * values], this.op);
  }

  run(row: Float32Array): Float32Array {
    const width = this.width.values;
    return this.low.values.map((low, at) => {
      const share = Math.fround(row[at % row.length]! - low) / width[at]!;
      return share < 0 ? 0 : share > 1 ? 1 : share;
    });
  }
}
