// The only source of randomness: 64-bit words from the host's random bytes.
import { InputError } from "./errors";
import type { Host } from "./host";

/** Independent uniform 64-bit words. */
export interface Entropy {
  words(count: number): bigint[];
}

const MOST_BYTES = 65536; // the limit of one call of getRandomValues
const TRIED_BYTES = 32;

/** Random words from the operating system's generator; keeps nothing between calls. */
export class SystemEntropy implements Entropy {
  constructor(private readonly random: Host["random"]) {
    // This proves nothing, but refuses a host that fills in nothing, or the same bytes each time.
    if (typeof random !== "function" || String(this.bytes(TRIED_BYTES)) === String(this.bytes(TRIED_BYTES))) {
      throw new InputError("this host has no secure random bits; nothing is released without them");
    }
  }

  words(count: number): bigint[] {
    const view = new DataView(this.bytes(8 * count).buffer);
    return Array.from({ length: count }, (_, at) => {
      return (BigInt(view.getUint32(8 * at + 4, true)) << 32n) | BigInt(view.getUint32(8 * at, true));
    });
  }

  private bytes(count: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(count);
    for (let start = 0; start < count; start += MOST_BYTES) this.random(bytes.subarray(start, start + MOST_BYTES));
    return bytes;
  }
}
