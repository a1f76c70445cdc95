// The runtime computes and draws what Python does, from the same file of vectors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Bundle } from "../src/bundle";
import { canonical } from "../src/canonical";
import type { Entropy } from "../src/entropy";
import { codeOf } from "../src/evidence";
import { sha256 } from "../src/hash";
import { parse } from "../src/json";
import { Network } from "../src/network";
import { DiscreteLaplace, below } from "../src/sampling";
import { Record } from "../src/record";
import { TensorReader } from "../src/tensors";
import { bytes, vectors } from "./vectors";

/** Entropy that gives the words it was told to give. */
export class Script implements Entropy {
  private at = 0;

  constructor(private readonly given: readonly string[]) {}

  words(count: number): BigUint64Array {
    const words = this.given.slice(this.at, (this.at += count));
    assert.equal(words.length, count, "more words were asked for than Python drew");
    return BigUint64Array.from(words, BigInt);
  }

  checkUsed(): void {
    assert.equal(this.at, this.given.length, "fewer words were asked for than Python drew");
  }
}

function equal(found: ArrayLike<number>, wanted: readonly number[]): void {
  assert.equal(found.length, wanted.length);
  wanted.forEach((value, at) => assert.ok(found[at] === value, `${found[at]} is not ${value}`)); // -0 is 0
}

for (const each of vectors.layers) {
  test(`layer ${each.name} is numpy's`, () => {
    const network = Network.read(parse(JSON.stringify(each.layers)), new TensorReader(bytes(each.tensors)), 6);
    each.rows.forEach((row, at) => equal(network.run(Float64Array.from(row)), each.results[at]!));
  });
}

for (const each of vectors.below) {
  test(`uniform integers below ${each.bound} are Python's`, () => {
    const entropy = new Script(each.words);
    assert.deepEqual(below(BigInt(each.bound), each.drawn.length, entropy).map(Number), each.drawn);
    entropy.checkUsed();
  });
}

for (const each of vectors.laplace) {
  test(`discrete Laplace noise of scale ${each.scale} is Python's`, () => {
    const entropy = new Script(each.words);
    const scale = new Record({ scale: [each.scale] }).fractions("scale")[0]!;
    assert.deepEqual(new DiscreteLaplace([scale]).draw(each.drawn.length, entropy).map(String), each.drawn);
    entropy.checkUsed();
  });
}

for (const each of vectors.digests) {
  test(`the digest of ${each.json} is Python's`, async () => {
    assert.equal(await sha256(new TextEncoder().encode(canonical(parse(each.json)))), each.sha256);
  });
}

for (const each of vectors.bundles) {
  test(`bundle ${each.kind}: codes are Python's, the same words give the same release`, async () => {
    const bundle = await Bundle.load(new TextEncoder().encode(each.manifest), bytes(each.tensors));
    const windows = each.windows.map((window) => Float64Array.from(window));
    assert.equal(bundle.policy.hold.windows, each.held);
    each.codes.forEach((code, at) => equal(codeOf(bundle, windows.slice(at * each.held, (at + 1) * each.held)), code));
    const entropy = new Script(each.words);
    const noisy = bundle.mechanism.privatise(Float64Array.from(each.codes.flat()), entropy);
    equal(noisy, each.noisy.flat());
    entropy.checkUsed();
    each.noisy.forEach((code, at) => equal(bundle.decode(Float64Array.from(code)), each.released[at]!));
  });
}

test("a float is written as Python writes it", () => {
  const text = "[1.0,-0.0,1e-05,0.0001,123456789012345.6,1234567890123456.0,1e+16,1.5e+300,0.1]";
  assert.equal(canonical(parse(text)), text);
});
