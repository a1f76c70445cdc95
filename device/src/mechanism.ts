// The face of every mechanism, what one draw promises, and the way from a bundle to one.
import { type ChannelFields, DiscreteChannel } from "./channel";
import { BundleError } from "./errors";
import type { Entropy } from "./entropy";
import { GridLaplace, type LaplaceFields } from "./laplace";

/** Turns private codes, flat as (row, coordinate), into noisy ones; the only step where randomness meets data. */
export interface Mechanism {
  /** Coordinates of a code. */
  readonly dim: number;
  /** How many indices are released, where indices are. */
  readonly publicOutputs: number | null;
  privatise(codes: Float64Array, entropy: Entropy): Float64Array;
}

/** What one draw promises, as it was verified where the bundle was exported. */
export interface Promised {
  readonly guarantee: "ldp" | "rldp" | "named";
  readonly epsilon: number;
  readonly confidence: number;
  /** Of named promises only: what any two windows are worth, where it is bounded. */
  readonly ldpCeiling: number | null;
  /** What one draw adds to a total. */
  readonly charge: number;
  /** Whether every code leaves as one fixed output, for anyone to read. */
  readonly noiseless: boolean;
}

export type MechanismFields = ChannelFields | LaplaceFields;

export function mechanismOf(fields: MechanismFields): Mechanism {
  if (fields.kind === "channel") return new DiscreteChannel(fields);
  if (fields.kind === "grid-laplace") return new GridLaplace(fields);
  throw new BundleError("the mechanism is of a kind that this version does not know; upgrade");
}
