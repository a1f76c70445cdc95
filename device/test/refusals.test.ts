// Whatever bundle Python refuses, the browser refuses.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Bundle } from "../src/bundle";
import { canonical } from "../src/canonical";
import { BundleError } from "../src/errors";
import { sha256 } from "../src/hash";
import { type Json, type JsonObject, parse } from "../src/json";
import { TensorReader } from "../src/tensors";
import { bundleOf, bytes, vectors } from "./vectors";

// Read exactly: JSON.parse would make 2.0 a whole number.
const exact = parse(readFileSync("../device/test/vectors.json", "utf8")) as unknown as { forged: { value: Json }[] };
const KIND = "channel named";

async function refused(manifest: string, kind = KIND, tensors = bytes(bundleOf(kind).tensors)): Promise<void> {
  await assert.rejects(Bundle.load(new TextEncoder().encode(manifest), tensors), BundleError);
}

/** The manifest with one change, its digest made anew by a careful forger. */
async function forged(kind: string, place: string, value: Json): Promise<string> {
  const body = parse(bundleOf(kind).manifest) as JsonObject;
  delete body["digest"];
  const parents = place.split("/");
  const last = parents.pop()!;
  const inner = parents.reduce((at, name) => (at as JsonObject)[name] as JsonObject, body);
  inner[last] = value;
  body["digest"] = await sha256(new TextEncoder().encode(canonical(body)));
  return canonical(body);
}

for (const [index, { kind, place }] of vectors.forged.entries()) {
  const { value } = exact.forged[index]!;
  test(`forged ${place} is refused (${index})`, async () => refused(await forged(kind, place, value)));
}

test("a careful forger who changes nothing is let in", async () => {
  const manifest = await forged(KIND, "minimiser/name", "by another hand");
  await Bundle.load(new TextEncoder().encode(manifest), bytes(bundleOf(KIND).tensors));
});

for (const { kind, find, instead } of vectors.garbled) {
  test(`garbled ${instead} is refused`, () => refused(bundleOf(kind).manifest.replace(find, instead), kind));
}

test("nesting without end is refused", () => refused("[".repeat(100_000)));

test("what is no UTF-8 is refused", async () => {
  await assert.rejects(Bundle.load(Uint8Array.of(0x7b, 0xff, 0x7d), bytes("")), BundleError);
});

test("altered or truncated tensors are refused", async () => {
  const tensors = bytes(bundleOf(KIND).tensors);
  await refused(bundleOf(KIND).manifest, KIND, tensors.slice(0, -1));
  tensors[tensors.length - 1]! ^= 1;
  await refused(bundleOf(KIND).manifest, KIND, tensors);
});

/** A file of tensors with this header and so many bytes of data. */
function tensorFile(header: string, data: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(header);
  const file = new Uint8Array(8 + text.length + data.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  file.set(data, 8 + text.length);
  return file;
}

const ENTRY = '{"dtype":"I16","shape":[2],"data_offsets":[0,4]}';
const BROKEN = {
  "nothing at all": new Uint8Array(),
  "a header longer than the file": Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 255, 123),
  "no object": tensorFile("[]", new Uint8Array()),
  "a rest": tensorFile(`{"t":${ENTRY}}`, new Uint8Array(5)),
  "an overlap": tensorFile(`{"t":${ENTRY},"u":${ENTRY}}`, new Uint8Array(4)),
  "one name twice": tensorFile(`{"t":${ENTRY},"t":${ENTRY}}`, new Uint8Array(4)),
  "another size than its shape": tensorFile(ENTRY.replace("[2]", "[3]").replace(/^/, '{"t":') + "}", new Uint8Array(4)),
  "a negative axis": tensorFile('{"t":{"dtype":"I16","shape":[-1,-2],"data_offsets":[0,4]}}', new Uint8Array(4)),
  "an unknown type": tensorFile('{"t":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}', new Uint8Array(4)),
  "numbers that are not whole": tensorFile('{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', new Uint8Array(4)),
  "a type that every object has": tensorFile('{"t":{"dtype":"constructor","shape":[],"data_offsets":[0,0]}}', new Uint8Array()),
  "a header of a megabyte": tensorFile(`{"t":${ENTRY}}${" ".repeat(1 << 20)}`, new Uint8Array(4)),
};
for (const [what, file] of Object.entries(BROKEN)) {
  test(`tensors with ${what} are refused`, () => assert.throws(() => new TensorReader(file), BundleError));
}

test("tensors are read by name, with the axes that a layer needs", () => {
  const reader = new TensorReader(tensorFile(`{"t":${ENTRY}}`, Uint8Array.of(1, 0, 255, 255)));
  assert.deepEqual([...reader.integers("t").values], [1, -1]);
  assert.throws(() => reader.integers("t", 2), BundleError);
  assert.throws(() => reader.integers("__proto__"), BundleError);
});
