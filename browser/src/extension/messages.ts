// What the parts of the extension say to each other.
import type { Said as Released } from "../platform/stream";
import type { Feature } from "./header";
import type { Reports } from "./seal";

/** From a content script, the guide or the popup to the service worker. */
export type ToWorker =
  | { readonly kind: "report"; readonly state: PermissionState }
  | { readonly kind: "ask" }
  | { readonly kind: "wake" }
  | { readonly kind: "recheck" };

export interface FromWorker {
  readonly reports: Reports;
  /** Whether the person switched this site off. */
  readonly off: boolean;
  /** Whether pages may know that their motion is protected, and how. */
  readonly tell: boolean;
}

/** From the popup to content scripts: settings have changed. */
export const CHANGED = "changed";
/** A channel on which the popup asks the document that reads for its status, with null, and hears it. */
export const STATUS = "status";

/** From the offscreen document to a content script, and on to the shim. */
export type Said =
  | Released
  | { readonly kind: "denied" }
  /** The answer of the document around a frame of another origin. */
  | { readonly kind: "allowed"; readonly features: readonly Feature[] }
  | { readonly kind: "permission"; readonly id: number; readonly state: PermissionState };

/** From the shim to the content script; whoever holds the page can send them, too. */
export type Asked =
  | { readonly kind: "listen"; readonly on: boolean }
  | { readonly kind: "permission"; readonly id: number };

/** A stream's port is named by when the page asked for it. */
export const STREAM = "stream ";
/** The event by which a content script hands the shim its port, and the one by which the shim asks for it. */
export const PORT_EVENT = "deeprotect-port";
export const READY_EVENT = "deeprotect-ready";
