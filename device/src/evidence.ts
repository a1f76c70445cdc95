// Pools the windows of an episode: adds up the encoder's scores of each, then chooses one code.
import type { Bundle } from "./bundle";
import type { Network } from "./network";
import { rint } from "./rounding";

const GRID = 2 ** -24; // features and samples are rounded to it before averaging, so sums are exact

/** The code of one draw from its windows, which are in units. */
export function codeOf({ encoder, policy }: Bundle, windows: readonly Float64Array[]): Float64Array {
  const rows = windows.map((window) => policy.schema.scale(window));
  return policy.hold.windows === 1 ? encoder.run(rows[0]!) : pooled(encoder, rows);
}

/** The code of an episode's rows: the decision from their total scores, or the mean of their results. */
export function pooled(encoder: Network, rows: readonly Float64Array[]): Float64Array {
  if (encoder.decide) return Float64Array.of(encoder.decide(total(rows.map((row) => encoder.scores(row)))));
  const onGrid = rows.map((row) => encoder.run(row).map((value) => rint(value / GRID) * GRID));
  return total(onGrid).map((sum) => sum / rows.length);
}

function total(rows: readonly Float64Array[]): Float64Array {
  return rows[0]!.map((_, at) => rows.reduce((sum, row) => sum + row[at]!, 0));
}
