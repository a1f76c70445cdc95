// The interface of mechanisms, what one draw promises, and reading a mechanism from a bundle.
import { type ChannelFields, DiscreteChannel } from "./channel";
import { BundleError } from "./errors";
import type { Entropy } from "./entropy";
import { GridLaplace, type LaplaceFields } from "./laplace";

/** Turns private codes, flat as (row, coordinate), into noisy ones; the only step where randomness meets data. */
export interface Mechanism {
  /** Coordinates per code. */
  readonly dim: number;
  /** The number of public outputs; null if numbers are released instead of indices. */
  readonly publicOutputs: number | null;
  privatise(codes: Float64Array, entropy: Entropy): Float64Array;
}

/** What one draw promises, as `export` verified it. */
export interface Promised {
  readonly guarantee: "ldp" | "rldp";
  readonly epsilon: number;
  /** What one draw adds to a total. */
  readonly charge: number;
  /** Whether each code always gives the same output, so that anyone can read it. */
  readonly noiseless: boolean;
}

export type MechanismFields = ChannelFields | LaplaceFields;

export function mechanismOf(fields: MechanismFields): Mechanism {
  if (fields.kind === "channel") return new DiscreteChannel(fields);
  if (fields.kind === "grid-laplace") return new GridLaplace(fields);
  throw new BundleError("this version does not know the bundle's mechanism; upgrade");
}
