// Chooses a code from scores: the most likely class of each inference.
import { BundleError } from "../errors";
import type { TensorReader } from "../tensors";
import type { Fields, Prepared, Row } from "./layer";

/** Maps the scores of several inferences, side by side, to one code; of equal scores the first wins. `codes` has the
 * code of every combination of classes, the last inference fastest. */
export function argmax({ classes, ...fields }: Fields, tensors: TensorReader): Prepared {
  if (fields.reject) throw new BundleError("a layer abstains, which this version does not; train again");
  const codes = tensors.integers(fields.codes).values;

  function decide(scores: Row): number {
    let [combination, start] = [0, 0];
    for (const count of classes as number[]) {
      const some = scores.subarray(start, (start += count));
      const best = some.reduce((first, score, at) => (score > some[first]! ? at : first), 0);
      combination = combination * count + best;
    }
    return codes[combination]!;
  }

  return { run: (row) => Float64Array.of(decide(row)), shape: [1], decide };
}
