// From scores to a code: the most likely class of each inference, or the code of those who abstain.
import { BundleError } from "../errors";
import { Record } from "../record";
import type { TensorReader } from "../tensors";
import { type Layer, type Row, flat, needsFloat64, requireFloat32 } from "./layer";

const LARGEST_CODE = 1 << 15;

/** When a window is named by nobody well: where, of some inference, the shares of all classes add up to more than `odds`
 * times that of the likeliest. `shares` are of scores 0, 1, 2, … steps below the likeliest one's; a step is 2^step. */
interface Reject {
  readonly code: number;
  readonly odds: number;
  readonly shares: Int32Array;
  readonly step: number;
}

function readReject(fields: Record, tensors: TensorReader): Reject {
  const { values: shares } = tensors.integers(fields.only("code", "odds", "shares", "step").text("shares"));
  const [code, odds, step] = [fields.integer("code"), fields.integer("odds"), fields.integer("step")];
  if (step < 0 || step > 32 || odds < 1 || odds > LARGEST_CODE || code < 0 || code > LARGEST_CODE) {
    throw new BundleError("layer argmax: what it rejects is out of range; train again");
  }
  return { code, odds, shares, step };
}

/** Scores of several inferences side by side, so many classes each, to one code; of equal scores, the first. `codes` has
 * the code of every combination of classes, the last inference fastest. */
export function argmax(fields: Record, tensors: TensorReader): Layer {
  fields.only("op", "classes", "codes", "reject");
  const [classes, { values: codes }] = [fields.integers("classes"), tensors.integers(fields.text("codes"))];
  const reject = fields.get("reject") === null ? null : readReject(fields.inner("reject"), tensors);

  function decide(scores: Row, windows: number): number {
    let [combination, start] = [0, 0];
    for (const count of classes) {
      const some = scores.subarray(start, (start += count));
      const best = some.reduce((first, score, at) => (score > some[first]! ? at : first), 0);
      if (reject && isRejected(reject, some.map((score) => some[best]! - score), windows)) return reject.code;
      combination = combination * count + best;
    }
    return codes[combination]!;
  }

  return (given) => {
    needsFloat64(given.most, given, "argmax");
    requireFloat32(given, "argmax"); // so that the sums of as many windows as an episode may have stay exact
    const values = classes.reduce((sum, count) => sum + count, 0);
    if (!classes.every((count) => count >= 1) || flat(given, "argmax") !== values) {
      throw new BundleError(`layer argmax: it does not fit ${given.shape[0]} scores; train again`);
    }
    const combinations = classes.reduce((product, count) => product * count, 1);
    if (codes.length !== combinations || !codes.every((code) => code >= 0 && code <= LARGEST_CODE)) {
      throw new BundleError("layer argmax: it needs one code for each combination of classes; train again");
    }
    const most = Float64Array.of(Math.max(reject?.code ?? 0, codes.reduce((a, b) => Math.max(a, b))));
    const reach = { shape: [1], most, whole: true, wide: false };
    return { run: (row) => Float64Array.of(decide(row, 1)), reach, work: 4 * values, decide };
  };
}

/** Of scores below the largest, which are sums over so many windows. */
function isRejected({ odds, shares, step }: Reject, below: Row, windows: number): boolean {
  const steps = Array.from(below, (each) => Math.min(Math.floor((each / windows) * 2 ** -step), shares.length - 1));
  return steps.reduce((sum, each) => sum + shares[each]!, 0) > odds * shares[0]!;
}
