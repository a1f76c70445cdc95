// The face of every mechanism, and the way from a bundle back to one.
import { DiscreteChannel } from "./channel";
import { BundleError } from "./errors";
import type { Entropy } from "./entropy";
import { type Event, readEvent } from "./event";
import type { Json } from "./json";
import { GridLaplace } from "./laplace";
import { Record } from "./record";

/** The numbers of a certificate that follow from a mechanism. */
export type Certified = { [name: string]: number | number[] | string | null };

/** Turns private codes, flat as (row, coordinate), into noisy ones; the only step where randomness meets data. */
export interface Mechanism {
  readonly name: string;
  readonly event: Event;
  /** Coordinates of a code. */
  readonly dim: number;
  readonly takesWindows: boolean;
  /** How many indices are released, where indices are. */
  readonly publicOutputs: number | null;
  readonly ldpCeiling: number | null;
  privatise(codes: Float64Array, entropy: Entropy): Float64Array;
  certified(): Promise<Certified>;
}

/** What one draw adds to a total. Named promises do not add up; what any two windows are worth does, where it is bounded. */
export function chargeOf(mechanism: Mechanism): number {
  const { guarantee, epsilon } = mechanism.event;
  return guarantee === "ldp" ? epsilon : (mechanism.ldpCeiling ?? epsilon);
}

/** The mechanism a bundle describes, with its epsilon derived again; refused when it does not hold. */
export function readMechanism(fields: Json): Mechanism {
  const record = new Record(fields);
  const event = readEvent(record.inner("event"));
  const kind = record.text("kind");
  if (kind === "channel") return DiscreteChannel.read(record, event);
  if (kind === "grid-laplace") return GridLaplace.read(record, event);
  if (kind === "subspace-laplace") {
    throw new BundleError("mechanism subspace needs linear programmes to be checked; train with mechanism = 'channel'");
  }
  throw new BundleError("mechanism: its kind is unknown; it may come from a newer version");
}
