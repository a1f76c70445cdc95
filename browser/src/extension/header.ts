// The header rules: they deny motion to pages, leave the rest of a site's own policy alone, and leave a mark by which
// the extension tells a page under these rules from one that denies motion to itself.

export const FEATURES = ["accelerometer", "gyroscope", "magnetometer"] as const;
export type Feature = (typeof FEATURES)[number];

/** An origin that cannot exist: allowing motion to it alone denies motion to every page, and a page can see it. */
export const MARK = "https://motion.deeprotect.invalid";

type Rule = chrome.declarativeNetRequest.Rule;
const RESOURCES = ["main_frame", "sub_frame"];

/** Conditions on a site's own headers: they name the feature and do not allow it to the site. */
function denying(feature: Feature): object[] {
  const allowed = ["\\*", "(\\*", "self", "(self"].map((start) => `*${feature}=${start}*`);
  return [
    { header: "permissions-policy", values: [`*${feature}=*`], excludedValues: allowed },
    {
      header: "feature-policy",
      values: [`*${feature} *`],
      excludedValues: [`*${feature} 'self'*`, `*${feature} \\**`],
    },
  ];
}

function rule(header: string, operation: string, value: string, condition: object): Omit<Rule, "id"> {
  return {
    priority: 1,
    action: { type: "modifyHeaders", responseHeaders: [{ header, operation, value }] },
    condition: { resourceTypes: RESOURCES, ...condition },
  } as unknown as Rule;
}

/**
 * Our header is appended to the site's own, and the last entry holds. A site's header that cannot be parsed voids both;
 * then the older header denies motion.
 */
export function rules(): Rule[] {
  const older = FEATURES.map((feature) => `${feature} 'none'`).join("; ");
  return [
    rule("Feature-Policy", "set", older, { responseHeaders: [{ header: "permissions-policy" }] }),
    ...FEATURES.flatMap((feature) => [
      rule("Permissions-Policy", "append", `${feature}=("${MARK}")`, { excludedResponseHeaders: denying(feature) }),
      rule("Permissions-Policy", "append", `${feature}=()`, { responseHeaders: denying(feature) }),
    ]),
  ].map((each, index) => ({ ...each, id: index + 1 }));
}

/** Takes the rules off the documents of one origin. */
export function exempt(origin: string, id: number): Rule {
  const condition = { urlFilter: `|${origin}/`, resourceTypes: RESOURCES };
  return { id, priority: 2, action: { type: "allow" }, condition } as unknown as Rule;
}
