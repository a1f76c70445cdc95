// What a host provides: the runtime itself needs nothing but the language.
import { InputError } from "./errors";
import type { Store } from "./ledger";

export interface Host {
  /** Fills at most 65,536 bytes from the operating system's generator. */
  random(bytes: Uint8Array<ArrayBuffer>): void;
  /** Milliseconds since 1970. */
  now(): number;
  /** Keeps charges beyond the life of the process. */
  readonly store: Store;
}

/** Random bits of the engine's own `crypto`; throws if it has none, because nothing weaker will do. */
export function engineRandom(): Host["random"] {
  const { crypto } = globalThis as { crypto?: { getRandomValues?(bytes: Uint8Array<ArrayBuffer>): unknown } };
  if (typeof crypto?.getRandomValues !== "function") {
    throw new InputError(
      "this engine has no secure random bits; give the host's own, such as expo-crypto's getRandomValues",
    );
  }
  return (bytes) => void crypto.getRandomValues!(bytes);
}
