// The manifest: everything a bundle says about itself, checked on the way in.
import { canonical } from "./canonical";
import { BundleError } from "./errors";
import { isPrintable } from "./event";
import { sha256 } from "./hash";
import { type Json, type JsonObject, isObject, parse } from "./json";
import { Record } from "./record";
import { TENSORS } from "./tensors";

const FORMAT = "deeprotect-bundle";
const VERSION = 3n;
const LARGEST_FILE = 1 << 26; // 64 MB: a file of more is not one of ours, whatever it says
const LONGEST_TEXT = 1000;
const NUMBERS = /^[0-9 /]*$/; // rows of a channel's integers are longer than any name
const KEYS = ["format", "version", "created", "made_with", "policy", "minimiser", "mechanism", "certificate", "encoder"];

/** Refuse what is foreign, of another version, altered or incomplete, in this order, with the reason. */
export async function readManifest(content: Uint8Array): Promise<{ record: Record; digest: string }> {
  if (content.length > LARGEST_FILE) throw new BundleError("manifest.json is too large to be part of a bundle; refused");
  const body = object(content);
  if (body["format"] !== FORMAT) throw new BundleError(`not a DEEProtect bundle (manifest.json has no format '${FORMAT}')`);
  checkVersion(body["version"]);
  const stated = body["digest"];
  delete body["digest"];
  const digest = await sha256(new TextEncoder().encode(canonical(body)));
  if (stated !== digest) throw new BundleError("manifest.json was altered after the bundle was made; get a fresh copy");
  checkTexts(body);
  return { record: new Record(body, "manifest").only(...KEYS, "decoder", "training", "results", "files"), digest };
}

/** The tensors must have the size and the hash that the manifest says. */
export async function checkTensors(manifest: Record, content: Uint8Array<ArrayBuffer>): Promise<void> {
  const part = manifest.inner("files").only(TENSORS).inner(TENSORS).only("sha256", "size");
  if (content.length > LARGEST_FILE) throw new BundleError(`${TENSORS} is too large to be part of a bundle; refused`);
  if (part.integer("size") !== content.length || part.text("sha256") !== (await sha256(content))) {
    throw new BundleError(`${TENSORS} was altered or truncated (its hash differs); get a fresh copy`);
  }
}

function object(content: Uint8Array): JsonObject {
  let body: Json;
  try {
    body = parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content));
  } catch {
    throw new BundleError("manifest.json is not valid JSON; get a fresh copy of the bundle");
  }
  if (!isObject(body)) throw new BundleError("not a DEEProtect bundle (manifest.json is not an object)");
  return body;
}

function checkVersion(version: Json | undefined): void {
  if (typeof version === "bigint" && version < VERSION) {
    throw new BundleError(`bundle version ${version} holds programs, which are not run any more; train again`);
  }
  if (version !== VERSION) throw new BundleError(`the bundle's version is newer than this program knows (${VERSION}); upgrade`);
}

/** Names are shown: one with line breaks or marks of direction in it could write a verdict of its own. */
function checkTexts(value: Json): void {
  if (typeof value === "string" && !harmless(value)) {
    throw new BundleError(`manifest.json holds a text that is not printable or longer than ${LONGEST_TEXT}; refused`);
  }
  if (Array.isArray(value)) value.forEach(checkTexts);
  else if (isObject(value)) Object.entries(value).flat().forEach(checkTexts);
}

function harmless(text: string): boolean {
  return (isPrintable(text) && [...text].length <= LONGEST_TEXT) || NUMBERS.test(text);
}
