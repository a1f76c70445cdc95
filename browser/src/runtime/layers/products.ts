// Layers that multiply and add: affine maps, a scale for each value, convolution in time.
import { BundleError } from "../errors";
import type { Record } from "../record";
import type { Floats, TensorReader } from "../tensors";
import { type Layer, type Shape, bounded, flat, series } from "./layer";

/** x W + b; weights is (input, output). */
export class Affine implements Layer {
  readonly op = "affine";

  private constructor(private readonly weights: Floats, private readonly bias: Floats) {}

  static read(fields: Record, tensors: TensorReader): Affine {
    fields.only("op", "weights", "bias");
    return new Affine(tensors.floats(fields.text("weights"), 2), tensors.floats(fields.text("bias"), 1));
  }

  shape(given: Shape): Shape {
    const [inputs, outputs] = this.weights.shape as [number, number];
    if (flat(given, this.op) !== inputs || this.bias.shape[0] !== outputs) {
      throw new BundleError(`layer ${this.op}: ${inputs} × ${outputs} weights do not fit; train again`);
    }
    return [outputs];
  }

  run(row: Float32Array): Float32Array {
    return product(row, this.weights.values, this.bias.values);
  }
}

/** (x − shift) · factor + offset, value by value. */
export class Scale implements Layer {
  readonly op = "scale";

  private constructor(private readonly shift: Floats, private readonly factor: Floats, private readonly offset: Floats) {}

  static read(fields: Record, tensors: TensorReader): Scale {
    fields.only("op", "shift", "factor", "offset");
    const [shift, factor, offset] = ["shift", "factor", "offset"].map((name) => tensors.floats(fields.text(name), 1));
    return new Scale(shift!, factor!, offset!);
  }

  shape(given: Shape): Shape {
    const values = flat(given, this.op);
    if ([this.shift, this.factor, this.offset].some((each) => each.shape[0] !== values)) {
      throw new BundleError(`layer ${this.op}: ${this.factor.shape[0]} factors do not fit; train again`);
    }
    return given;
  }

  run(row: Float32Array): Float32Array {
    const [shift, factor, offset] = [this.shift.values, this.factor.values, this.offset.values];
    return row.map((value, at) => Math.fround(value - shift[at]!) * factor[at]! + offset[at]!);
  }
}

/** Convolution in time with zero padding; kernel is (time, input channel, output channel). */
export class Convolution implements Layer {
  readonly op = "convolution";

  private constructor(
    private readonly kernel: Floats,
    private readonly bias: Floats,
    private readonly stride: number,
    private readonly padding: number,
  ) {}

  static read(fields: Record, tensors: TensorReader): Convolution {
    fields.only("op", "kernel", "bias", "stride", "padding");
    const [kernel, bias] = [tensors.floats(fields.text("kernel"), 3), tensors.floats(fields.text("bias"), 1)];
    return new Convolution(kernel, bias, fields.integer("stride"), fields.integer("padding"));
  }

  shape(given: Shape): Shape {
    const [length, channels] = series(given, this.op);
    const [width, inputs, outputs] = this.kernel.shape as [number, number, number];
    const { padding, stride } = this;
    const fits = channels === inputs && this.bias.shape[0] === outputs;
    if (!(fits && padding >= 0 && padding < width && stride >= 1 && width <= length + 2 * padding)) {
      throw new BundleError(`layer ${this.op}: a kernel of ${width} × ${inputs} × ${outputs} does not fit; train again`);
    }
    const steps = this.steps(length);
    bounded([steps, width * inputs], this.op);
    return bounded([steps, outputs], this.op);
  }

  private steps(length: number): number {
    return Math.floor((length + 2 * this.padding - this.kernel.shape[0]!) / this.stride) + 1;
  }

  run(row: Float32Array, given: Shape): Float32Array {
    const [width, inputs, outputs] = this.kernel.shape as [number, number, number];
    const steps = this.steps(given[0]!);
    const padded = new Float32Array(row.length + 2 * this.padding * inputs);
    padded.set(row, this.padding * inputs);
    const result = new Float32Array(steps * outputs);
    for (let step = 0; step < steps; step += 1) {
      const start = step * this.stride * inputs;
      const patch = padded.subarray(start, start + width * inputs);
      result.set(product(patch, this.kernel.values, this.bias.values), step * outputs);
    }
    return result;
  }
}

/** A row times a matrix (input, output), plus bias; summed in double precision. */
function product(row: Float32Array, weights: Float32Array, bias: Float32Array): Float32Array {
  const sums = Float64Array.from(bias);
  const outputs = bias.length;
  for (let input = 0, at = 0; input < row.length; input += 1) {
    const value = row[input]!;
    for (let output = 0; output < outputs; output += 1, at += 1) sums[output]! += value * weights[at]!;
  }
  return Float32Array.from(sums);
}
