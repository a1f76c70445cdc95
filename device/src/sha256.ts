// SHA-256 in hexadecimal digits (FIPS 180-4), because not every engine has one.

/** The first 32 bits of the fractional parts of roots of the first primes. */
function fractions(count: number, root: (prime: number) => number): Int32Array {
  const found = new Int32Array(count);
  for (let prime = 2, at = 0; at < count; prime += 1) {
    if (isPrime(prime)) found[at++] = Math.floor((root(prime) % 1) * 2 ** 32) | 0;
  }
  return found;
}

function isPrime(number: number): boolean {
  for (let factor = 2; factor * factor <= number; factor += 1) if (number % factor === 0) return false;
  return true;
}

export function sha256(content: Uint8Array): string {
  const [state, constants] = [fractions(8, Math.sqrt), fractions(64, Math.cbrt)];
  const [bytes, words] = [padded(content), new Int32Array(64)];
  const view = new DataView(bytes.buffer);
  for (let start = 0; start < bytes.length; start += 64) {
    for (let at = 0; at < 16; at += 1) words[at] = view.getInt32(start + 4 * at);
    compress(state, words, constants);
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Appends a one, zeros and the length in bits, up to a full block. */
function padded(content: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil((content.length + 9) / 64) * 64);
  bytes.set(content);
  bytes[content.length] = 128;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(content.length / 2 ** 29));
  view.setUint32(bytes.length - 4, (content.length * 8) >>> 0);
  return bytes;
}

function compress(state: Int32Array, words: Int32Array, constants: Int32Array): void {
  for (let at = 16; at < 64; at += 1) {
    const [before, last] = [words[at - 15]!, words[at - 2]!];
    const small = rotated(before, 7) ^ rotated(before, 18) ^ (before >>> 3);
    words[at] = words[at - 16]! + small + words[at - 7]! + (rotated(last, 17) ^ rotated(last, 19) ^ (last >>> 10));
  }
  let a = state[0]!,
    b = state[1]!,
    c = state[2]!,
    d = state[3]!,
    e = state[4]!,
    f = state[5]!,
    g = state[6]!,
    h = state[7]!;
  for (let at = 0; at < 64; at += 1) {
    const chosen = (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g));
    const first = (h + chosen + constants[at]! + words[at]!) | 0;
    const second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((each, at) => (state[at]! += each));
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
