// What a stream is doing, for an app to show: known from clocks, counts and which sensors answer, never from readings.
import type { Stream } from "./channels";

export type State =
  | "stopped"
  /** Sensors run; the first window is still to come. */
  | "starting"
  | "live"
  /** Public windows are shown: readings were missing, or the first held draw is still to come. */
  | "placeholder"
  /** The phone gives no readings of `missing`, which the policy reads. */
  | "sensor-missing"
  | "budget-spent"
  /** The charge could not be stored, so nothing is released. */
  | "store-failed"
  /** The clock was set back, so the stream starts anew. */
  | "clock-moved"
  /** Anything else; nothing is released. */
  | "failed";

export interface Status {
  readonly state: State;
  /** Until the first window, as of this status; null once there is one. */
  readonly secondsToFirstWindow: number | null;
  /** Streams that the policy reads and the phone does not give. */
  readonly missing: readonly Stream[];
  /** The error, where something failed. */
  readonly reason: string | null;
}

export const STOPPED: Status = { state: "stopped", secondsToFirstWindow: null, missing: [], reason: null };
