// Whether raw readings can reach pages, from the permissions that the browser reports to the extension and to them.

/** navigator.permissions for motion sensors, as reported to the extension and to open sites. */
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

/** Drops sites that are no longer open: they would not see their setting change. */
export function ofOpenSites(reports: Reports, open: ReadonlySet<string>): Reports {
  return { ...reports, sites: reports.sites.filter(([origin]) => open.has(origin)) };
}

/** A site is sealed only if the browser denies it what it grants to the extension. */
export function sealOf(reports: Reports, origin: string): Seal {
  const state = reports.sites.find(([each]) => each === origin)?.[1];
  return reports.own === "granted" && state === "denied" ? "sealed" : "partial";
}

export function sealed(reports: Reports): string[] {
  return reports.sites.map(([origin]) => origin).filter((origin) => sealOf(reports, origin) === "sealed");
}

/** Open sites that the browser gives raw motion wherever our header does not stop it. */
export function allowed(reports: Reports): string[] {
  return reports.sites.filter(([, state]) => state !== "denied").map(([origin]) => origin);
}
