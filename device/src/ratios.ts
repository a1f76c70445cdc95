// The exact ratios that a channel's epsilons are, from its integers out of 2^64 and its calibration counts.
import { Fraction } from "./fraction";

export const WHOLE = 1n << 64n;
export const UNIT = 1n << 30n; // ends of intervals are whole multiples of 2^-30
export type Weights = readonly (readonly bigint[])[];
/** Ends of P(code | class) out of UNIT; (class, code). */
export interface Ends {
  readonly low: readonly (readonly bigint[])[];
  readonly high: readonly (readonly bigint[])[];
}
type Pair = readonly [most: bigint, least: bigint];

/** The largest P(output | code) / P(output | other code); null when a possible output is impossible elsewhere. */
export function ldpRatio(weights: Weights): Fraction | null {
  return largest(columns(weights).map((column) => [max(column), min(column)] as const));
}

/** The largest P(output | class) / P(output | other class) over all conditionals between the ends. */
export function namedRatio(weights: Weights, ends: Ends): Fraction | null {
  if (ends.low.length === 1) return new Fraction(1n);
  const pairs = columns(weights).flatMap((column) => {
    const ascending = ranked(column);
    const descending = [...ascending].reverse();
    const least = ends.low.map((_, row) => mixture(column, ascending, ends, row));
    const most = ends.low.map((_, row) => mixture(column, descending, ends, row));
    return pairsOf(most, least);
  });
  return largest(pairs);
}

/** Σ p_z column[z] for the p of one class that puts most on the codes that come first: greedy, and so optimal. */
function mixture(column: readonly bigint[], first: readonly number[], ends: Ends, row: number): bigint {
  const [low, high] = [ends.low[row]!, ends.high[row]!];
  let rest = UNIT - low.reduce((sum, end) => sum + end, 0n);
  let sum = 0n;
  for (const code of first) {
    const width = high[code]! - low[code]!;
    const given = rest < 0n ? 0n : rest < width ? rest : width;
    rest -= width;
    sum += (low[code]! + given) * column[code]!;
  }
  return sum;
}

/** The pairs of different classes among which the largest ratio is: a class is not told apart from itself. */
function pairsOf(most: readonly bigint[], least: readonly bigint[]): Pair[] {
  const [tops, bottoms] = [ranked(most).slice(-2), ranked(least).slice(0, 2)];
  return tops.flatMap((a) => bottoms.filter((b) => b !== a).map((b) => [most[a]!, least[b]!] as const));
}

/** The largest quotient; null for one by zero; an output that never comes counts as 1. */
function largest(pairs: readonly Pair[]): Fraction | null {
  let [above, below] = [1n, 1n];
  for (const [most, least] of pairs) {
    if (least === 0n && most > 0n) return null;
    if (least > 0n && most * below > above * least) [above, below] = [most, least];
  }
  return new Fraction(above, below);
}

/** Places of the values, the smallest first. */
function ranked(values: readonly bigint[]): number[] {
  const order = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);
  return [...values.keys()].sort((a, b) => order(values[a]!, values[b]!));
}

export function columns(weights: Weights): bigint[][] {
  return weights[0]!.map((_, column) => weights.map((row) => row[column]!));
}

export function max(values: readonly bigint[]): bigint {
  return values.reduce((a, b) => (a > b ? a : b));
}

export function min(values: readonly bigint[]): bigint {
  return values.reduce((a, b) => (a < b ? a : b));
}
