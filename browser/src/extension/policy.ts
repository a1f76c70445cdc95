// What this document may read by the page's own policy, as it would be without our header.
import type { Reading } from "deeprotect";
import { FEATURES, type Feature, MARK } from "./header";
import { apply } from "./shim/natives";

type Features = readonly Feature[];
type Known = boolean | "unknown";

interface FeaturePolicy {
  allowsFeature(name: string): boolean;
  getAllowlistForFeature(name: string): string[];
}

// Taken before a page could change them; other browsers do not have them.
const attribute = Object.getOwnPropertyDescriptor(Document.prototype, "featurePolicy")?.get;
const { FeaturePolicy: Policy } = window as unknown as { FeaturePolicy?: { prototype: FeaturePolicy } };
const allows = Policy?.prototype.allowsFeature;
const allowlist = Policy?.prototype.getAllowlistForFeature;

function policyOf(page: Document): FeaturePolicy | undefined {
  return attribute && (apply(attribute, page, []) as FeaturePolicy);
}

/** Frames whose parent denies them motion by our header have to ask it: the browser cannot tell whether it would. */
const known: { [feature in Feature]: Known } = { accelerometer: isAllowed("accelerometer"), gyroscope: isAllowed("gyroscope"), magnetometer: isAllowed("magnetometer") };

function isAllowed(feature: Feature): Known {
  const policy = policyOf(document);
  if (!policy || !allows || (apply(allows, policy, [feature]) as boolean)) return true;
  const top = sameOriginTop();
  if (isMarked(policy, feature) || (top !== null && isMarked(policyOf(top), feature))) return true;
  return window !== window.parent && top === null && !isFenced() ? "unknown" : false;
}

function isMarked(policy: FeaturePolicy | undefined, feature: Feature): boolean {
  return policy !== undefined && (apply(allowlist!, policy, [feature]) as string[]).includes(MARK);
}

function isFenced(): boolean {
  return Boolean((window as { fence?: object | null }).fence); // it is its own top
}

/** The page's own document, where we may look into it. */
function sameOriginTop(): Document | null {
  try {
    return isFenced() ? null : window.top!.document;
  } catch {
    return null;
  }
}

/** Whether the parent's answer is still to come. */
export function isUndecided(): boolean {
  return FEATURES.some((feature) => known[feature] === "unknown");
}

export function decide(allowed: Features): void {
  for (const feature of FEATURES) if (known[feature] === "unknown") known[feature] = allowed.includes(feature);
}

/** Whether this frame may read all of these. */
export function allowedByPage(...features: Features): boolean {
  return features.every((feature) => known[feature] === true);
}

/** The same, or not known yet. */
export function maybeAllowed(...features: Features): boolean {
  return features.every((feature) => known[feature] !== false);
}

/** What of a reading this frame may see. */
export function permitted(reading: Reading): Reading {
  const [acceleration, rotation] = [allowedByPage("accelerometer"), allowedByPage("gyroscope")];
  if (acceleration && rotation) return reading;
  return {
    acceleration: acceleration ? reading.acceleration : null,
    accelerationIncludingGravity: acceleration ? reading.accelerationIncludingGravity : null,
    gravity: acceleration ? reading.gravity : null,
    rotationRate: rotation ? reading.rotationRate : null,
    orientation: null,
  };
}

/** What a frame's `allow` attribute gives to a document of an origin, in a page of `self`: https://w3c.github.io/webappsec-permissions-policy */
export function delegated(allow: string, { self, src, origin }: { self: string; src: string; origin: string }): Feature[] {
  const directives = allow.split(";").map((directive) => directive.trim().split(/\s+/));
  return FEATURES.filter((feature) => {
    const directive = directives.find(([name]) => name === feature);
    if (!directive) return origin === self;
    const origins = directive.length > 1 ? directive.slice(1) : ["'src'"];
    return origins.some((each) => each === "*" || (each === "'self'" ? self : each === "'src'" ? src : originOf(each)) === origin);
  });
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}
