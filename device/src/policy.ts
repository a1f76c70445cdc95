// The policy inside a bundle: stream, inferences, privacy. The training section tells nothing that a release needs.
import { readHold } from "./durations";
import type { Hold } from "./episodes";
import { BundleError } from "./errors";
import { GUARANTEES, checkNames } from "./event";
import type { Budget } from "./ledger";
import type { WhenSpent } from "./pipe";
import { Record } from "./record";
import { type Channel, Schema } from "./schema";

const MOST_CHANNELS = 1024;
const MOST_VALUES = 1 << 20; // in a window
const MECHANISMS = ["auto", "channel", "laplace", "subspace", "paper", "baseline"];

export interface Policy {
  readonly schema: Schema;
  readonly useful: readonly string[];
  readonly sensitive: readonly string[];
  readonly privacy: Privacy;
  readonly hold: Hold;
  /** Limits that hold whatever a person chooses. */
  readonly budget: Budget;
  /** What leaves when they are reached; null where there are none. */
  readonly whenSpent: WhenSpent | null;
}

/** The promise: ε per window, of which kind, kept by which mechanism. */
export interface Privacy {
  readonly epsilon: number;
  readonly guarantee: string;
  readonly confidence: number;
  readonly ldpCeiling: number | null;
  readonly mechanism: string;
  /** Named only: what those that are compared have in common. */
  readonly given: "useful" | "nothing";
}

export function readPolicy(record: Record): Policy {
  record.only("version", "stream", "inferences", "privacy", "training", "about");
  if (record.integer("version") !== 1) throw new BundleError("policy: its version is newer than this program knows; upgrade");
  const inferences = record.inner("inferences").only("useful", "sensitive");
  const [useful, sensitive] = [inferences.texts("useful"), inferences.has("sensitive") ? inferences.texts("sensitive") : []];
  checkNames([...useful, ...sensitive], "the name of an inference");
  if (!useful.length || useful.some((name) => sensitive.includes(name))) {
    throw new BundleError("policy: it needs useful inferences, none of which is sensitive");
  }
  const [schema, privacy] = [readSchema(record.inner("stream")), readPrivacy(record.inner("privacy"))];
  const [budget, whenSpent] = readBudget(record.inner("privacy"));
  return { schema, useful, sensitive, privacy, hold: readHold(record.inner("privacy"), schema), budget, whenSpent };
}

function readBudget(privacy: Record): [Budget, WhenSpent | null] {
  const budget = privacy.has("budget") ? privacy.inner("budget").only("per_hour", "per_day", "in_all", "when_spent") : null;
  const limit = (name: string): number | null => {
    const most = budget?.has(name) ? budget.number(name) : null;
    if (most !== null && !(most > 0)) throw new BundleError("policy: a limit of its budget is not positive; train again");
    return most;
  };
  const then = budget?.has("when_spent") ? budget.text("when_spent") : "refuse";
  if (then !== "refuse" && then !== "placeholder") throw new BundleError("policy: when_spent must be refuse or placeholder; upgrade");
  const whenSpent = then === "refuse" ? "nothing" : then;
  return [{ perHour: limit("per_hour"), perDay: limit("per_day"), inAll: limit("in_all") }, budget && whenSpent];
}

function readPrivacy(record: Record): Privacy {
  record.only("epsilon", "every", "listen", "guarantee", "confidence", "given", "ldp_ceiling", "mechanism", "budget");
  const given = record.has("given") ? record.text("given") : "nothing";
  if (given !== "useful" && given !== "nothing") throw new BundleError("policy: given must be useful or nothing; upgrade");
  const privacy = {
    epsilon: record.number("epsilon"),
    guarantee: record.text("guarantee"),
    confidence: record.number("confidence"),
    ldpCeiling: record.has("ldp_ceiling") ? record.number("ldp_ceiling") : null,
    mechanism: record.text("mechanism"),
    given,
  } as const;
  const known = GUARANTEES.some((name) => name === privacy.guarantee) && MECHANISMS.includes(privacy.mechanism);
  const bounded = privacy.confidence >= 0.5 && privacy.confidence < 1 && (privacy.ldpCeiling ?? 1) > 0;
  if (!known || !bounded || !(privacy.epsilon > 0)) throw new BundleError("policy: the promise cannot be read; train again");
  return privacy;
}

function readSchema(record: Record): Schema {
  record.only("rate_hz", "window", "channels", "columns", "when_missing");
  const [rate, window] = [record.number("rate_hz"), record.integer("window")];
  const channels = record.list("channels").map((fields) => readChannel(new Record(fields, "policy.stream.channels")));
  const names = new Set(channels.map((channel) => channel.name));
  if (!channels.length || channels.length > MOST_CHANNELS || names.size < channels.length) {
    throw new BundleError(`policy: it needs 1 to ${MOST_CHANNELS} channels of different names`);
  }
  if (!(rate > 0) || window < 1 || window * channels.length > MOST_VALUES) {
    throw new BundleError(`policy: rate and window must be positive, a window of at most ${MOST_VALUES} values`);
  }
  return new Schema(channels, rate, window);
}

function readChannel(record: Record): Channel {
  record.only("name", "unit", "range", "resolution", "sensor");
  const [name, unit, range] = [record.text("name"), record.text("unit"), record.floats("range")];
  const resolution = record.has("resolution") ? record.number("resolution") : null;
  checkNames([name, unit], "the name of a channel or unit");
  const [low, high] = [range[0] ?? NaN, range[1] ?? NaN];
  const fits = range.length === 2 && low < high && Number.isFinite(high - low);
  if (!fits || (resolution !== null && !(resolution > 0 && resolution <= high - low))) {
    throw new BundleError("policy: a channel needs a range of two finite numbers, low < high, and a resolution inside it");
  }
  return { name, unit, low, high, resolution };
}
