// The runtime computes and draws what Python does, from the same file of vectors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf } from "../src/base64";
import type { Entropy } from "../src/entropy";
import { codeOf } from "../src/evidence";
import { Fraction } from "../src/fraction";
import type { Fields } from "../src/layers/layer";
import { Network } from "../src/network";
import { DiscreteLaplace, below } from "../src/sampling";
import { TensorReader } from "../src/tensors";
import { load, vectors } from "./vectors";

/** Entropy that gives the words it was told to give. */
export class Script implements Entropy {
  private at = 0;

  constructor(private readonly given: readonly string[]) {}

  words(count: number): bigint[] {
    const words = this.given.slice(this.at, (this.at += count));
    assert.equal(words.length, count, "more words were asked for than Python drew");
    return words.map(BigInt);
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
    const network = new Network(each.layers as Fields[], new TensorReader(bytesOf(each.tensors)), 6);
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
    const scale = Fraction.read(each.scale);
    assert.deepEqual(new DiscreteLaplace([scale]).draw(each.drawn.length, entropy).map(String), each.drawn);
    entropy.checkUsed();
  });
}

for (const each of vectors.bundles) {
  test(`bundle ${each.kind}: codes are Python's, the same words give the same release`, () => {
    const bundle = load(each.kind);
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
