// From scores to a code: the most likely class of each inference, or the code of those who abstain.
import { BundleError } from "../errors";
import type { Record } from "../record";
import type { TensorReader } from "../tensors";
import { type Layer, type Shape, flat } from "./layer";

const LARGEST_CODE = 1 << 20;

/** Scores of several inferences side by side, so many classes each, to one code. */
export class Argmax implements Layer {
  static readonly op = "argmax";
  readonly op = Argmax.op;

  private constructor(
    readonly classes: readonly number[],
    private readonly codes: BigInt64Array,
    private readonly leastShare: number,
    private readonly reject: number,
  ) {}

  static read(fields: Record, tensors: TensorReader): Argmax {
    fields.only("op", "classes", "codes", "least_share", "reject");
    const codes = tensors.integers(fields.text("codes"));
    return new Argmax(fields.integers("classes"), codes, fields.number("least_share"), fields.integer("reject"));
  }

  shape(given: Shape): Shape {
    const { classes, codes, reject, leastShare } = this;
    const values = classes.reduce((sum, count) => sum + count, 0);
    if (!classes.length || Math.min(...classes) < 1 || flat(given, this.op) !== values) {
      throw new BundleError(`layer ${this.op}: it does not fit ${given[0]} scores; train again`);
    }
    const combinations = classes.reduce((product, count) => product * count, 1);
    const known = (code: number): boolean => code >= 0 && code <= LARGEST_CODE;
    const allKnown = codes.every((code) => known(Number(code))) && known(reject);
    if (codes.length !== combinations || !allKnown || !(leastShare >= 0 && leastShare <= 1)) {
      throw new BundleError(`layer ${this.op}: it needs one code for each combination of classes; train again`);
    }
    return [1];
  }

  run(row: Float32Array): Float32Array {
    let [combination, unsure, start] = [0, false, 0];
    for (const count of this.classes) {
      const scores = row.subarray(start, start + count);
      combination = combination * count + largestOf(scores);
      unsure ||= shareOfLargest(scores) < Math.fround(this.leastShare);
      start += count;
    }
    return Float32Array.of(unsure ? this.reject : Number(this.codes[combination]));
  }
}

/** Where the largest score stands, the first of equals; numpy takes what is no number for the largest. */
function largestOf(scores: Float32Array): number {
  const none = scores.findIndex(Number.isNaN);
  if (none >= 0) return none;
  return scores.reduce((best, score, at) => (score > scores[best]! ? at : best), 0);
}

/** The softmax of the largest score, in float32. */
function shareOfLargest(scores: Float32Array): number {
  const largest = scores.reduce((a, b) => Math.max(a, b));
  return Math.fround(1 / scores.reduce((sum, score) => sum + Math.exp(score - largest), 0));
}
