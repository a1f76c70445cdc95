// What the windows of an episode say together: what the encoder sees in each is added up, then one code is chosen.
import type { Bundle } from "./bundle";
import type { Network } from "./network";
import { rint } from "./rounding";

const GRID = 2 ** -24; // of features and samples that are averaged, so that they add up exactly

/** The code of the windows of one draw, in units. */
export function codeOf({ encoder, policy }: Bundle, windows: readonly Float64Array[]): Float64Array {
  const rows = windows.map((window) => policy.schema.scale(window));
  return policy.hold.windows === 1 ? encoder.run(rows[0]!) : pooled(encoder, rows);
}

/** The code of an episode's rows; without a decision in the encoder, the mean of its results. */
export function pooled(encoder: Network, rows: readonly Float64Array[]): Float64Array {
  if (encoder.decide) return Float64Array.of(encoder.decide(total(rows.map((row) => encoder.scores(row)))));
  const onGrid = rows.map((row) => encoder.run(row).map((value) => rint(value / GRID) * GRID));
  return total(onGrid).map((sum) => sum / rows.length);
}

function total(rows: readonly Float64Array[]): Float64Array {
  return rows[0]!.map((_, at) => rows.reduce((sum, row) => sum + row[at]!, 0));
}
