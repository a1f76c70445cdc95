// Whether the parts of a bundle belong together: policy, mechanism, certificate, networks.
import { DiscreteChannel } from "./channel";
import { perOf } from "./episodes";
import { BundleError } from "./errors";
import { type Json, isObject } from "./json";
import type { Certified, Mechanism } from "./mechanism";
import type { Network } from "./network";
import { OutputTable } from "./outputs";
import type { Policy } from "./policy";
import type { Record } from "./record";

export type Decoder = Network | OutputTable;

/** Refuse a mechanism that promises less than the policy; ε-LDP includes every other promise at the same ε. */
export function checkPromise(policy: Policy, mechanism: Mechanism): void {
  const [stated, event] = [policy.privacy, mechanism.event];
  if (event.epsilon > stated.epsilon) throw new BundleError("the mechanism spends more than the policy's ε; train again");
  if (event.per !== perOf(policy.hold)) throw new BundleError(`the mechanism's ε is per ${event.per}, the policy's is not`);
  if (!["auto", mechanism.name].includes(stated.mechanism)) {
    throw new BundleError(`the policy asks for mechanism ${stated.mechanism}, not ${mechanism.name}`);
  }
  if (event.guarantee !== "ldp") checkWeaker(policy, mechanism);
  const ceiling = event.guarantee === "ldp" ? event.epsilon : mechanism.ldpCeiling;
  if (stated.ldpCeiling !== null && (ceiling === null || ceiling > stated.ldpCeiling)) {
    throw new BundleError("the mechanism does not keep the policy's ldp_ceiling; train again");
  }
}

function checkWeaker(policy: Policy, mechanism: Mechanism): void {
  const [stated, event] = [policy.privacy, mechanism.event];
  if (event.guarantee !== stated.guarantee) {
    throw new BundleError(`the mechanism gives ${event.guarantee}, the policy promises ${stated.guarantee}`);
  }
  if (policy.sensitive.some((name) => !event.inferences.includes(name))) {
    throw new BundleError("the mechanism does not hide an inference that the policy names sensitive; train again");
  }
  const given = stated.given === "useful" ? policy.useful : [];
  if (given.length !== new Set(event.given).size || given.some((name) => !event.given.includes(name))) {
    throw new BundleError("the mechanism's promise is not given what the policy's is; train again");
  }
  if (event.guarantee === "named" && event.confidence < stated.confidence) {
    throw new BundleError("the mechanism's confidence is below the policy's; train again");
  }
}

/** Refuse counts that leave out a class that training saw: a promise given the useful class lists what it skips. */
export function checkCounted(mechanism: Mechanism, training: Record): void {
  if (!(mechanism instanceof DiscreteChannel) || !mechanism.event.given.length) return;
  const classes = training.inner("classes");
  for (const inference of mechanism.event.inferences.filter((name) => classes.has(name))) {
    const counted = mechanism.tables.classesOf(inference);
    if (classes.texts(inference).some((name) => !counted.has(name))) {
      throw new BundleError("the counts leave out a class of a secret that training saw; train again");
    }
  }
}

/** Refuse a certificate whose numbers do not follow from the mechanism's own; its sentences are not used here. */
export async function checkCertificate(mechanism: Mechanism, stored: Record): Promise<void> {
  const { guarantee, epsilon, per, inferences, delta, confidence, given } = mechanism.event;
  const stated = { guarantee, epsilon, per, inferences: [...inferences], delta, confidence, mechanism: mechanism.name };
  const derived = { ...stated, ...(given.length ? { given: [...given] } : {}), ...(await mechanism.certified()) };
  for (const [name, value] of Object.entries(derived)) {
    if (!same(value, stored.fields[name])) {
      throw new BundleError(`the certificate does not follow from the mechanism's own numbers: '${name}'`);
    }
  }
}

/** Equal, numbers within 1e-9: the libraries behind a sum differ between machines. */
function same(derived: Certified[string] | string[], stored: Json | undefined): boolean {
  if (Array.isArray(derived)) {
    return Array.isArray(stored) && stored.length === derived.length && derived.every((each, at) => same(each, stored[at]));
  }
  if (typeof derived === "number" && (typeof stored === "number" || typeof stored === "bigint")) {
    const other = Number(stored);
    return derived === other || Math.abs(derived - other) <= 1e-9 * Math.max(Math.abs(derived), Math.abs(other));
  }
  return !isObject(stored) && derived === stored;
}

/** Refuse networks that do not fit the windows or the mechanism. */
export function checkShapes(mechanism: Mechanism, encoder: Network, decoder: Decoder, dim: number): void {
  const shapes = [encoder.inputs, encoder.outputs, decoder.inputs, decoder.outputs];
  const wanted = [dim, mechanism.dim, mechanism.dim, dim];
  if (shapes.some((size, at) => size !== wanted[at])) {
    throw new BundleError(`the networks' shapes (${shapes}) do not fit windows of ${dim} values; train again`);
  }
  if (mechanism.takesWindows && !encoder.isEmpty) {
    throw new BundleError("this noise is for the window itself; an encoder before it voids the promise");
  }
  const rows = decoder instanceof OutputTable ? decoder.rows : null;
  if (rows !== mechanism.publicOutputs) throw new BundleError(`mechanism ${mechanism.name} has another decoder; train again`);
}
