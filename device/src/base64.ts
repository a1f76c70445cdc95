// Decodes base64, because not every engine has atob.

const SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const values = new Uint8Array(128);
  for (let at = 0; at < 64; at += 1) values[SIGNS.charCodeAt(at)] = at;
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((base64.length / 4) * 3 - padding);
  for (let from = 0, to = 0; from < base64.length; from += 4) {
    let word = 0;
    for (let place = 0; place < 4; place += 1) word = (word << 6) | values[base64.charCodeAt(from + place)]!;
    bytes[to++] = word >> 16;
    if (to < bytes.length) bytes[to++] = (word >> 8) & 255;
    if (to < bytes.length) bytes[to++] = word & 255;
  }
  return bytes;
}
