// From scores to a code: the most likely class of each inference, or the code of those who abstain.
import type { TensorReader } from "../tensors";
import type { Fields, Prepared, Row } from "./layer";

/** When a window is named by nobody well: where, of some inference, the shares of all classes add up to more than `odds`
 * times that of the likeliest. `shares` are of scores 0, 1, 2, … steps below the likeliest one's; a step is 2^step. */
interface Reject {
  readonly code: number;
  readonly odds: number;
  readonly shares: ArrayLike<number>;
  readonly step: number;
}

/** Scores of several inferences side by side, so many classes each, to one code; of equal scores, the first. `codes` has
 * the code of every combination of classes, the last inference fastest. */
export function argmax({ classes, ...fields }: Fields, tensors: TensorReader): Prepared {
  const codes = tensors.integers(fields.codes).values;
  const reject: Reject | null = fields.reject && { ...fields.reject, shares: tensors.integers(fields.reject.shares).values };

  function decide(scores: Row, windows: number): number {
    let [combination, start] = [0, 0];
    for (const count of classes as number[]) {
      const some = scores.subarray(start, (start += count));
      const best = some.reduce((first, score, at) => (score > some[first]! ? at : first), 0);
      if (reject && isRejected(reject, some.map((score) => some[best]! - score), windows)) return reject.code;
      combination = combination * count + best;
    }
    return codes[combination]!;
  }

  return { run: (row) => Float64Array.of(decide(row, 1)), shape: [1], decide };
}

/** Of scores below the largest, which are sums over so many windows. */
function isRejected({ odds, shares, step }: Reject, below: Row, windows: number): boolean {
  const steps = Array.from(below, (each) => Math.min(Math.floor((each / windows) * 2 ** -step), shares.length - 1));
  return steps.reduce((sum, each) => sum + shares[each]!, 0) > odds * shares[0]!;
}
