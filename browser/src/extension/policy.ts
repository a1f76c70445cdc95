// What this document may read by the page's own policy, as if our header were not there.
import type { Reading } from "deeprotect";
import { FEATURES, type Feature, MARK } from "./header";
import { apply } from "./shim/natives";

type Features = readonly Feature[];
type Known = boolean | "unknown";

interface FeaturePolicy {
  allowsFeature(name: string): boolean;
  getAllowlistForFeature(name: string): string[];
}

// Captured before a page can change them; other browsers do not have them.
const attribute = Object.getOwnPropertyDescriptor(Document.prototype, "featurePolicy")?.get;
const { FeaturePolicy: Policy } = window as unknown as { FeaturePolicy?: { prototype: FeaturePolicy } };
const allows = Policy?.prototype.allowsFeature;
const allowlist = Policy?.prototype.getAllowlistForFeature;

function policyOf(page: Document): FeaturePolicy | undefined {
  const policy: unknown = attribute && apply(attribute, page, []);
  return policy as FeaturePolicy | undefined;
}

const known: { [feature in Feature]: Known } = {
  accelerometer: isAllowed("accelerometer"),
  gyroscope: isAllowed("gyroscope"),
  magnetometer: isAllowed("magnetometer"),
};

/** Under our header the browser denies motion to a frame whatever its parent allows, so parents are asked in turn. */
function isAllowed(feature: Feature, frame: Window = window): Known {
  const policy = policyOf(frame.document);
  if (!policy || !allows || apply(allows, policy, [feature]) || isMarked(policy, feature)) return true;
  if (frame === frame.parent || isFenced()) return false;
  const element = frame.frameElement as HTMLIFrameElement | null;
  if (!element) return "unknown"; // its parent is of another origin
  return delegatedBy(element, window.origin).includes(feature) ? isAllowed(feature, frame.parent) : false;
}

function isMarked(policy: FeaturePolicy, feature: Feature): boolean {
  return apply(allowlist!, policy, [feature]).includes(MARK);
}

/** A fenced frame is its own top. */
function isFenced(): boolean {
  return Boolean((window as { fence?: object | null }).fence);
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

/** Whether this frame may read all of these, or does not know yet. */
export function maybeAllowed(...features: Features): boolean {
  return features.every((feature) => known[feature] !== false);
}

/** The parts of a reading that this frame may see. */
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

/** What a frame's `allow` attribute gives to its document: https://w3c.github.io/webappsec-permissions-policy */
export function delegatedBy(frame: HTMLIFrameElement, origin: string): Feature[] {
  const src = frame.hasAttribute("srcdoc") ? window.origin : originIn(frame.src);
  // The document of an address without an origin, such as about:blank, may share the page's.
  const origins = { self: window.origin, src: src === "null" && origin === window.origin ? origin : src, origin };
  return delegated(frame.allow || "", origins);
}

/** Origins of a page, of the address in a frame's `src`, and of the document that is in the frame. */
interface Origins {
  readonly self: string;
  readonly src: string;
  readonly origin: string;
}

function delegated(allow: string, { self, src, origin }: Origins): Feature[] {
  const directives = allow.split(";").map((directive) => directive.trim().split(/\s+/));
  const named = (value: string): string => (value === "'self'" ? self : value === "'src'" ? src : originIn(value));
  return FEATURES.filter((feature) => {
    const directive = directives.find(([name]) => name === feature);
    if (!directive) return origin === self;
    const values = directive.length > 1 ? directive.slice(1) : ["'src'"];
    return values.some((value) => value === "*" || named(value) === origin);
  });
}

/** The page's own for no address at all, and none for what is not an address. */
function originIn(url: string | undefined): string {
  return !url ? window.origin : URL.canParse(url) ? new URL(url).origin : "";
}
