// The one home of randomness: bits from the browser's generator.

/** Independent uniform 64-bit words. */
export interface Entropy {
  words(count: number): BigUint64Array;
}

const MOST_BYTES = 65536; // that getRandomValues gives at once

/** Bits of the operating system's generator; nothing is kept between calls. */
export class SystemEntropy implements Entropy {
  words(count: number): BigUint64Array {
    const bytes = new Uint8Array(8 * count);
    for (let start = 0; start < bytes.length; start += MOST_BYTES) {
      crypto.getRandomValues(bytes.subarray(start, start + MOST_BYTES));
    }
    return new BigUint64Array(bytes.buffer);
  }
}
