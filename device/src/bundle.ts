// A protector as `deeprotect export` writes it for devices: stream, promise, networks, mechanism and public windows.
// `export` has verified every number in it, and its digest identifies it.
import { bytesOf } from "./base64";
import type { Hold } from "./episodes";
import { BundleError } from "./errors";
import type { Fields } from "./layers/layer";
import type { Budget } from "./ledger";
import { type Mechanism, type MechanismFields, type Promised, mechanismOf } from "./mechanism";
import type { Place } from "./motion/channels";
import { Network } from "./network";
import { OutputTable } from "./outputs";
import { type Channel, Schema } from "./schema";
import { sha256 } from "./sha256";
import { TensorReader } from "./tensors";

const FORMAT = "deeprotect-device";
const VERSION = 1;

/** protector.json; the tensors are in base64. */
export interface Exported {
  readonly format: string;
  readonly version: number;
  readonly stream: { readonly rateHz: number; readonly window: number; readonly channels: readonly Channel[] };
  readonly places: readonly Place[];
  readonly policy: Omit<Policy, "schema">;
  readonly promise: Promised;
  readonly mechanism: MechanismFields;
  readonly encoder: readonly Fields[];
  readonly decoder: readonly Fields[] | { readonly outputs: string };
  readonly tensors: string;
}

export interface Policy {
  readonly schema: Schema;
  readonly useful: readonly string[];
  readonly sensitive: readonly string[];
  readonly hold: Hold;
  /** Limits that a person's choices can only tighten. */
  readonly budget: Budget;
  /** What leaves once they are reached; null if there are none. */
  readonly whenSpent: WhenSpent | null;
  /** The policy's `stream.when_missing`; absent if the policy does not say. */
  readonly whenMissing?: WhenMissing;
}

/** What leaves once the budget is spent: public windows drawn without any data, or nothing. */
export type WhenSpent = "placeholder" | "nothing";

/** What is shown while a sensor that the policy reads has given nothing since the start. */
export type WhenMissing = "nothing" | "placeholder";

/** protector.json as TypeScript types a JSON import. */
export type Imported = Pick<Exported, "format" | "version">;

/** A protector. */
export class Bundle {
  readonly policy: Policy;
  readonly promise: Promised;
  /** The channels as axes of the platform's motion. */
  readonly places: readonly Place[];
  readonly mechanism: Mechanism;
  readonly encoder: Network;
  private readonly decoder: { run(noisyCode: Float64Array): Float64Array };

  /** Trusts a file that ships with the app: anyone who can change it can change the app, too. */
  constructor(imported: Imported) {
    if (imported.format !== FORMAT || imported.version !== VERSION) {
      throw new BundleError(
        `not a bundle for devices of version ${VERSION}; write one with deeprotect export --target device`,
      );
    }
    const exported = imported as Exported; // written by a program of this version
    const { stream, mechanism, encoder, decoder } = exported;
    const tensors = new TensorReader(bytesOf(exported.tensors));
    const schema = new Schema(stream.channels, stream.rateHz, stream.window);
    this.policy = { ...exported.policy, schema };
    this.promise = exported.promise;
    this.places = exported.places;
    this.mechanism = mechanismOf(mechanism);
    this.encoder = new Network(encoder, tensors, schema.dim);
    this.decoder =
      "outputs" in decoder
        ? new OutputTable(tensors.integers(decoder.outputs))
        : new Network(decoder, tensors, this.mechanism.dim);
  }

  /** Accepts a text from elsewhere only if its digest is the one that `export` printed. */
  static pinned(text: string, digest: string): Bundle {
    const bytes = Uint8Array.from(text, (sign) => sign.charCodeAt(0)); // the text is ASCII, or its digest differs
    if (!/^[\0-\x7f]*$/.test(text) || sha256(bytes) !== digest) {
      throw new BundleError("the bundle is not the one whose digest is pinned; nothing is released");
    }
    return new Bundle(JSON.parse(text) as Exported);
  }

  /** Makes a window in units, flat with the channel fastest, from a noisy code alone; NaN becomes mid-range. */
  decode(noisyCode: Float64Array): Float64Array {
    return this.policy.schema.unscale(this.decoder.run(noisyCode).map((value) => (Number.isNaN(value) ? 0.5 : value)));
  }
}
