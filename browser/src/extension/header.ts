// The header rules: they deny motion to pages, leave the rest of a site's own policy alone, and leave a mark by which a
// page that came under them is told from one that denies motion to itself.
import type { Reading } from "deeprotect";

export const FEATURES = ["accelerometer", "gyroscope", "magnetometer"] as const;
export type Feature = (typeof FEATURES)[number];

/** An origin that nobody has: to allow motion to it alone denies it to every page, and can be read in the page. */
const MARK = "https://motion.deeprotect.invalid";

type Rule = chrome.declarativeNetRequest.Rule;
const RESOURCES = ["main_frame", "sub_frame"];

/** What of a site's own headers denies it a feature: all that names the feature and does not allow it to the site. */
function denying(feature: Feature): object[] {
  const allowed = ["\\*", "(\\*", "self", "(self"].map((start) => `*${feature}=${start}*`);
  return [
    { header: "permissions-policy", values: [`*${feature}=*`], excludedValues: allowed },
    { header: "feature-policy", values: [`*${feature} *`], excludedValues: [`*${feature} 'self'*`, `*${feature} \\**`] },
  ];
}

function rule(header: string, operation: string, value: string, condition: object): Omit<Rule, "id"> {
  return {
    priority: 1,
    action: { type: "modifyHeaders", responseHeaders: [{ header, operation, value }] },
    condition: { resourceTypes: RESOURCES, ...condition },
  } as unknown as Rule;
}

/** Ours is appended to the site's own, and the last one holds. A site's that cannot be read voids both; then the older one denies. */
export function rules(): Rule[] {
  const older = FEATURES.map((feature) => `${feature} 'none'`).join("; ");
  return [
    rule("Feature-Policy", "set", older, { responseHeaders: [{ header: "permissions-policy" }] }),
    ...FEATURES.flatMap((feature) => [
      rule("Permissions-Policy", "append", `${feature}=("${MARK}")`, { excludedResponseHeaders: denying(feature) }),
      rule("Permissions-Policy", "append", `${feature}=()`, { responseHeaders: denying(feature) }),
    ]),
  ].map((each, index) => ({ ...each, id: index + 1 }) as Rule);
}

/** Takes the rules off the documents of one origin. */
export function exempt(origin: string, id: number): Rule {
  const condition = { urlFilter: `|${origin}/`, resourceTypes: RESOURCES };
  return { id, priority: 2, action: { type: "allow" }, condition } as unknown as Rule;
}

interface FeaturePolicy {
  allowsFeature(name: string): boolean;
  getAllowlistForFeature(name: string): string[];
}

function policyOf(page: Document): FeaturePolicy | undefined {
  return (page as unknown as { featurePolicy?: FeaturePolicy }).featurePolicy;
}

const known = new Map<Feature, boolean>();

/** Whether this frame may read all of these by the page's own policy; what a document is allowed never changes. */
export function allowedByPage(...features: readonly Feature[]): boolean {
  for (const feature of features) if (!known.has(feature)) known.set(feature, isAllowed(feature));
  return features.every((feature) => known.get(feature));
}

function isAllowed(feature: Feature): boolean {
  const policy = policyOf(document);
  if (!policy || policy.allowsFeature(feature)) return true;
  const top = sameOriginTop();
  return isMarked(policy, feature) || (top !== null && isMarked(policyOf(top), feature));
}

function isMarked(policy: FeaturePolicy | undefined, feature: Feature): boolean {
  return policy !== undefined && policy.getAllowlistForFeature(feature).includes(MARK);
}

/** The page's own document, where we may look into it; a fenced frame is its own top. */
function sameOriginTop(): Document | null {
  try {
    return (window as { fence?: object | null }).fence ? null : window.top!.document;
  } catch {
    return null;
  }
}

/** What of a reading this frame may see. */
export function permitted(reading: Reading): Reading {
  const [felt, turned] = [allowedByPage("accelerometer"), allowedByPage("gyroscope")];
  if (felt && turned) return reading;
  return {
    acceleration: felt ? reading.acceleration : null,
    accelerationIncludingGravity: felt ? reading.accelerationIncludingGravity : null,
    gravity: felt ? reading.gravity : null,
    rotationRate: turned ? reading.rotationRate : null,
    orientation: null,
  };
}
