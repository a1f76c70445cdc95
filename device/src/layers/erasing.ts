// The layer that takes linear directions out of a window, exactly. docs/claims.md#erased-directions
import { BundleError } from "../errors";
import { rint } from "../rounding";
import type { TensorReader } from "../tensors";
import type { Fields, Prepared, Row } from "./layer";
import { clipped } from "./rounding";

const MIDDLE = 2 ** 14;
const ONE = 2 ** 14;

/** Steps around the middle of the range, less what the pivots move each place by, rounded; 0 at the pivots.
 * `others` (pivot, place) are multiples of 2^-14, for all places but the pivots, in their order. */
export function erase(fields: Fields, tensors: TensorReader): Prepared {
  const [pivots, others] = [tensors.integers(fields.pivots).values, tensors.integers(fields.others)];
  const [rank, count] = others.shape as [number, number];
  const places = Array.from({ length: rank + count }, (_, place) => place).filter((place) => !pivots.includes(place));
  if (rank !== pivots.length || places.length !== count)
    throw new BundleError("a layer erases no directions; train again");

  function run(row: Row): Row {
    const steps = row.map((value) => clipped(value * 2 * MIDDLE, 0, 2 * MIDDLE) - MIDDLE);
    const result = new Float64Array(row.length);
    places.forEach((place, at) => {
      let moved = 0;
      for (let pivot = 0; pivot < rank; pivot += 1)
        moved += others.values[pivot * count + at]! * steps[pivots[pivot]!]!;
      result[place] = steps[place]! - rint(moved / ONE);
    });
    return result;
  }

  return { run, shape: [rank + count] };
}
