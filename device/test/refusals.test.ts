// A bundle from elsewhere is refused unless its digest is the pinned one; a host without random bits is refused, too.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { bytesOf } from "../src/base64";
import { Bundle, type Exported } from "../src/bundle";
import { SystemEntropy } from "../src/entropy";
import { BundleError, InputError } from "../src/errors";
import { engineRandom } from "../src/host";
import { Ledger } from "../src/ledger";
import { Pipe } from "../src/pipe";
import { sha256 } from "../src/sha256";
import { bundleOf, load, vectors } from "./vectors";

const { protector, digest } = bundleOf("channel held");

test("SHA-256 equals node's for every length around a block's end", () => {
  for (let length = 0; length < 200; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 37 + length) % 256);
    assert.equal(sha256(bytes), createHash("sha256").update(bytes).digest("hex"));
  }
});

test("base64 of any length is decoded to the same bytes", () => {
  for (let length = 0; length < 100; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 89 + length) % 256);
    assert.deepEqual(bytesOf(Buffer.from(bytes).toString("base64")), bytes);
  }
});

test("a bundle with the pinned digest is accepted", () => {
  for (const { protector, digest } of vectors.bundles) Bundle.pinned(protector, digest);
});

test("a bundle in which any one sign was changed is refused", () => {
  for (let at = 0; at < protector.length; at += Math.ceil(protector.length / 50)) {
    const changed = protector.slice(0, at) + (protector[at] === "1" ? "2" : "1") + protector.slice(at + 1);
    assert.throws(() => Bundle.pinned(changed, digest), BundleError);
  }
  assert.throws(() => Bundle.pinned(protector.slice(0, -1), digest), BundleError);
  assert.throws(() => Bundle.pinned(`${protector} `, digest), BundleError);
});

test("a character beyond ASCII is not taken for the one with the same low byte", () => {
  const at = protector.indexOf("channel");
  const alike =
    protector.slice(0, at) + String.fromCharCode(protector.charCodeAt(at) + 0x100) + protector.slice(at + 1);
  assert.throws(() => Bundle.pinned(alike, digest), BundleError);
});

test("another digest, or none, is refused", () => {
  for (const other of [bundleOf("channel ldp").digest, "", digest.toUpperCase(), undefined as unknown as string]) {
    assert.throws(() => Bundle.pinned(protector, other), BundleError);
  }
});

test("a file that is not a bundle for devices, or of another version, or with an unknown part, is refused", () => {
  const exported = JSON.parse(protector) as Exported;
  assert.throws(() => new Bundle({} as Exported), BundleError);
  assert.throws(() => new Bundle({ ...exported, version: 2 }), BundleError);
  assert.throws(() => new Bundle({ ...exported, encoder: [{ op: "programme" }] } as Exported), BundleError);
  assert.throws(() => new Bundle({ ...exported, mechanism: { kind: "elsewhere" } } as never), BundleError);
});

test("a host without secure random bits is refused before anything is encoded", () => {
  const ledger = new Ledger({ load: async () => undefined, save: async () => {} });
  const bundle = load("channel ldp");
  for (const random of [() => {}, (bytes: Uint8Array) => void bytes.fill(7), null as never, "random" as never]) {
    assert.throws(() => new SystemEntropy(random), InputError);
    assert.throws(() => new Pipe(bundle, ledger, bundle.policy.hold, "nothing", random), InputError);
  }
});

test("an engine without a secure generator is refused", () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "crypto")!;
  try {
    for (const crypto of [undefined, {}, { getRandomValues: 1 }]) {
      Object.defineProperty(globalThis, "crypto", { value: crypto, configurable: true });
      assert.throws(() => engineRandom(), InputError);
    }
  } finally {
    Object.defineProperty(globalThis, "crypto", own);
  }
});
