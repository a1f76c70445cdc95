// What a host must give, for the runtime takes nothing for granted but the language.
import { InputError } from "./errors";
import type { Store } from "./ledger";

export interface Host {
  /** Fills the bytes, 65,536 at most, with bits of the operating system's generator. */
  random(bytes: Uint8Array<ArrayBuffer>): void;
  /** Milliseconds since 1970. */
  now(): number;
  /** Where charges outlive the process. */
  readonly store: Store;
}

/** Bits of the engine's own `crypto`; refused where there is none, for there is no second best. */
export function engineRandom(): Host["random"] {
  const { crypto } = globalThis as { crypto?: { getRandomValues?(bytes: Uint8Array<ArrayBuffer>): unknown } };
  if (typeof crypto?.getRandomValues !== "function") {
    throw new InputError("this engine has no secure random bits; give the host's own, such as expo-crypto's getRandomValues");
  }
  return (bytes) => void crypto.getRandomValues!(bytes);
}
