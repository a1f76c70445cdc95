// What calibration counts say about a secret's classes: confidence sets, as Python derives them (Blaker 2000).
import { atLeast, atMost } from "./beta";
import { BundleError } from "./errors";
import { checkNames } from "./event";
import { nextUp } from "./logarithm";
import { type Ends, UNIT } from "./ratios";
import type { Record } from "./record";

const GRID = Number(UNIT);
const MOST_COUNTS = 2 ** 31;
export const FEWEST_GIVEN = 20; // windows of a useful class and a class of a secret together that carry a promise
export const LONGEST_CODE = 1000; // a useful class joins the classes of all useful inferences

/** A named inference with the calibration windows of each class counted by code; counts is (class, code). */
export interface Secret {
  readonly inference: string;
  readonly classes: readonly string[];
  readonly counts: readonly (readonly number[])[];
  readonly epsilon: number;
  /** The useful class of which all its windows are; empty where they are of any. */
  readonly given: string;
}

export function readTable(record: Record, inference: string, given: string): Secret {
  const [classes, counts, epsilon] = [record.texts("classes"), record.matrix("counts"), record.number("epsilon")];
  checkNames([inference], "the name of an inference");
  checkNames(classes, "the name of a class");
  const whole = counts.flat().every((count) => Number.isInteger(count) && count >= 0 && count <= MOST_COUNTS);
  if (counts.length !== classes.length || !whole || !(epsilon >= 0)) {
    throw new BundleError("mechanism: a sensitive inference needs whole numbers of windows for each class; train again");
  }
  const windows = counts.map((row) => row.reduce((sum, count) => sum + count, 0));
  if (given && (classes.length < 2 || Math.min(...windows) < FEWEST_GIVEN)) {
    throw new BundleError(`mechanism: a table needs two classes or more, each seen in ${FEWEST_GIVEN} windows or more`);
  }
  return { inference, classes, counts, epsilon, given };
}

/** The intervals of each secret; with probability at least `confidence` all of all secrets hold together. */
export function confidenceSets(secrets: readonly Secret[], confidence: number): Ends[] {
  if (!(confidence >= 0.5 && confidence <= 1)) throw new BundleError("mechanism: confidence must be between 0.5 and 1");
  const samples = new Map<string, number>();
  for (const { inference, classes } of secrets) samples.set(inference, (samples.get(inference) ?? 0) + classes.length);
  // Inferences are counted on the same windows, so nothing is known but that their misses add up.
  const each = samples.size <= 1 ? confidence : Math.min(1, nextUp(1 - (1 - confidence) / samples.size));
  return secrets.map((secret) => intervals(secret.counts, each, samples.get(secret.inference)!));
}

/** Ends of P(code | class); with probability at least `confidence` all codes of all `samples` classes hold together. */
function intervals(counts: Secret["counts"], confidence: number, samples: number): Ends {
  const codes = counts[0]!.length;
  if (codes === 1) return { low: counts.map(() => [UNIT]), high: counts.map(() => [UNIT]) };
  // Two codes are one proportion seen from both sides: one event, not two.
  const miss = missOfEach(confidence, samples) / (codes === 2 ? 1 : codes);
  const upper = remembered((found, windows) => upperEnd(found, windows, miss));
  const windows = counts.map((row) => row.reduce((sum, count) => sum + count, 0));
  return {
    low: counts.map((row, s) => row.map((count) => UNIT - upper(windows[s]! - count, windows[s]!))),
    high: counts.map((row, s) => row.map((count) => upper(count, windows[s]!))),
  };
}

/** 1 - confidence^(1/classes), rounded down by far more than the functions are off: a smaller miss is a wider set. */
function missOfEach(confidence: number, classes: number): number {
  return -Math.expm1(Math.log(confidence) / classes) * (1 - 2 ** -40);
}

/** Blaker's upper end in units of 2^-30, rounded up and one unit more. */
function upperEnd(found: number, windows: number, miss: number): bigint {
  const end = found < windows ? blaker(found, windows, miss) + 1 : GRID;
  return BigInt(Math.min(end, GRID));
}

/** The smallest grid point above the hull of {p : p-value of x under Binomial(n, p) >= miss}; Python's says why. */
function blaker(x: number, n: number, miss: number): number {
  const start = Number((BigInt(x) * UNIT + BigInt(n - 1)) / BigInt(n));
  const outer = first((grid) => atMost(x, n, grid / GRID) < miss / 2, start, GRID);
  const bound = atMost(x, n, outer / GRID);
  const k = first((k) => atLeast(k, n, outer / GRID) <= bound, x + 1, n + 1);
  const outside = (grid: number): boolean => {
    const tail = atMost(x, n, grid / GRID);
    return atLeast(k - 1, n, grid / GRID) > tail && tail + atLeast(k, n, grid / GRID) < miss;
  };
  return first(outside, start, outer);
}

/** The first integer of low .. high at which the monotone `holds` is true; it is taken for true at high. */
function first(holds: (at: number) => boolean, low: number, high: number): number {
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}

/** Many cells hold the same counts. */
function remembered(end: (found: number, windows: number) => bigint): (found: number, windows: number) => bigint {
  const known = new Map<string, bigint>();
  return (found, windows) => {
    const key = `${found}/${windows}`;
    if (!known.has(key)) known.set(key, end(found, windows));
    return known.get(key)!;
  };
}
