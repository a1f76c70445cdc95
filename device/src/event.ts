// What one release promises.
import { BundleError } from "./errors";
import type { Record } from "./record";

export const GUARANTEES = ["ldp", "rldp", "named"] as const;
export type Guarantee = (typeof GUARANTEES)[number];
/** What one draw is for. */
export type Per = "window" | "episode";
const MOST_INFERENCES = 64;
const LONGEST_NAME = 100;
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

export interface Event {
  readonly guarantee: Guarantee;
  readonly epsilon: number;
  readonly per: Per;
  readonly inferences: readonly string[];
  readonly delta: number;
  readonly confidence: number;
  /** Useful inferences on which those that are compared agree; of named promises only. */
  readonly given: readonly string[];
}

export function readEvent(record: Record): Event {
  const guarantee = GUARANTEES.find((known) => known === record.text("guarantee"));
  const [epsilon, delta, confidence] = [record.number("epsilon"), record.number("delta"), record.number("confidence")];
  const [inferences, given] = [record.texts("inferences"), record.has("given") ? record.texts("given") : []];
  const per = record.text("per");
  if (!guarantee) throw new BundleError("mechanism: the guarantee is unknown; use one of: ldp, rldp, named");
  if (per !== "window" && per !== "episode") throw new BundleError("mechanism: events are per window or episode; upgrade");
  if (!(epsilon > 0)) throw new BundleError("mechanism: epsilon must be a positive finite number");
  if (!(delta >= 0 && delta < 1 && confidence > 0 && confidence <= 1)) {
    throw new BundleError("mechanism: delta must be in [0, 1) and confidence in (0, 1]");
  }
  if (Math.max(inferences.length, given.length) > MOST_INFERENCES || (given.length && guarantee !== "named")) {
    throw new BundleError("mechanism: an event names too many inferences, or is given some without being named");
  }
  checkNames([...inferences, ...given], "the name of an inference");
  return { guarantee, epsilon, per, inferences, delta, confidence, given };
}

/** Refuse, without repeating it, what a page might not show as it is. */
export function checkNames(names: readonly string[], what: string, longest = LONGEST_NAME): void {
  if (!names.every((name) => isPrintable(name) && [...name].length <= longest && name.trim())) {
    throw new BundleError(`${what} must be one printable line of at most ${longest} characters; rename it`);
  }
}

/** No line breaks, escapes, or marks that turn the direction of text. */
export function isPrintable(text: string): boolean {
  return !HIDDEN.test(text);
}
