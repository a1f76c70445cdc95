// Whether raw readings can reach pages: what the browser says to us and to them.

/** What navigator.permissions says of motion sensors: to the extension, and to the sites that were seen, newest last. */
export interface Reports {
  readonly own: PermissionState;
  readonly sites: readonly (readonly [origin: string, state: PermissionState])[];
}

export const NO_REPORTS: Reports = { own: "prompt", sites: [] };
const MOST_SITES = 500;

export type Seal = "sealed" | "partial";

export function withSiteReport(reports: Reports, origin: string, state: PermissionState): Reports {
  const others = reports.sites.filter(([each]) => each !== origin);
  return { ...reports, sites: [...others, [origin, state] as const].slice(-MOST_SITES) };
}

/** Sealed is claimed for a site only where the browser denies the site what it grants to us. */
export function sealOf(reports: Reports, origin: string): Seal {
  const state = reports.sites.find(([each]) => each === origin)?.[1];
  return reports.own === "granted" && state === "denied" ? "sealed" : "partial";
}

/** For all sites: the setting is Block, as far as the last site has told. Whoever doubts is not sealed. */
export function isSealed(reports: Reports): boolean {
  return reports.own === "granted" && reports.sites.at(-1)?.[1] === "denied";
}

/** Sites that the person allowed apart: warned of, and kept from raw readings by a header as well as may be. */
export function unsealed(reports: Reports): string[] {
  return reports.sites.filter(([, state]) => state !== "denied").map(([origin]) => origin);
}
