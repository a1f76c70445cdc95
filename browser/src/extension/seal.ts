// Whether raw readings can reach pages: what the browser says to us and to them.

/** What navigator.permissions says of motion sensors: to the extension, and to the sites that are open. */
export interface Reports {
  readonly own: PermissionState;
  readonly sites: readonly (readonly [origin: string, state: PermissionState])[];
}

export const NO_REPORTS: Reports = { own: "prompt", sites: [] };

export type Seal = "sealed" | "partial";

export function withSiteReport(reports: Reports, origin: string, state: PermissionState): Reports {
  const others = reports.sites.filter(([each]) => each !== origin);
  return { ...reports, sites: [...others, [origin, state] as const] };
}

/** A site that is no longer open does not see when its setting changes: what it said is forgotten. */
export function ofOpenSites(reports: Reports, open: ReadonlySet<string>): Reports {
  return { ...reports, sites: reports.sites.filter(([origin]) => open.has(origin)) };
}

/** Sealed is claimed for a site only where the browser denies the site what it grants to us. */
export function sealOf(reports: Reports, origin: string): Seal {
  const state = reports.sites.find(([each]) => each === origin)?.[1];
  return reports.own === "granted" && state === "denied" ? "sealed" : "partial";
}

export function sealed(reports: Reports): string[] {
  return reports.sites.map(([origin]) => origin).filter((origin) => sealOf(reports, origin) === "sealed");
}

/** Open sites to which the browser gives raw motion where our header does not stop them. */
export function allowed(reports: Reports): string[] {
  return reports.sites.filter(([, state]) => state !== "denied").map(([origin]) => origin);
}
