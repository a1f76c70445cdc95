// Messages between the parts of the extension.
import type { Released } from "../platform/stream";
import type { Feature } from "./header";
import type { Reports } from "./seal";

/** From a content script, the guide or the popup to the service worker. */
export type ToWorker =
  | { readonly kind: "report"; readonly state: PermissionState }
  | { readonly kind: "ask" }
  | { readonly kind: "wake" }
  | { readonly kind: "recheck" }
  | Delegated;

/** What a page delegates to the frame that asked under this id; the service worker passes it on to the tab's frames. */
export interface Delegated {
  readonly kind: "delegated";
  readonly id: string;
  readonly features: readonly Feature[];
}

export function isDelegated(message: unknown): message is Delegated {
  return (message as Partial<Delegated> | null)?.kind === "delegated";
}

export interface FromWorker {
  readonly reports: Reports;
  /** Whether the person switched this site off. */
  readonly off: boolean;
  /** Whether pages may know that their motion is protected, and how. */
  readonly tell: boolean;
}

/** From the popup to content scripts: settings have changed. */
export const CHANGED = "changed";
/** The channel on which the popup asks the offscreen document for its status, by sending null. */
export const STATUS = "status";

/** From the offscreen document to a content script, and on to the shim. */
export type Update =
  | Released
  | { readonly kind: "denied" }
  /** What the parent document of a frame of another origin allows it. */
  | { readonly kind: "allowed"; readonly features: readonly Feature[] }
  | { readonly kind: "permission"; readonly id: number; readonly state: PermissionState };

/** From the shim to the content script; the page can send them, too. */
export type PageRequest =
  { readonly kind: "listen"; readonly on: boolean } | { readonly kind: "permission"; readonly id: number };

/** A stream's port is named by the time at which the page asked for it. */
export const STREAM = "stream ";
/** The event by which a content script hands the shim its port, and the one by which the shim asks for it. */
export const PORT_EVENT = "deeprotect-port";
export const READY_EVENT = "deeprotect-ready";
