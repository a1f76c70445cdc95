// The header rule, and how a page that came under it is told from one that denies motion to itself.
import type { Reading } from "deeprotect";

/** The fourth is there as a mark: pages that deny these three to themselves seldom deny it, too. */
export const FEATURES = ["accelerometer", "gyroscope", "magnetometer", "ambient-light-sensor"];

interface FeaturePolicy {
  allowsFeature(name: string): boolean;
}

/** Whether this frame may read all of these by the page's own policy; under our header, if it is of the page's own origin. */
export function allowedByPage(...features: string[]): boolean {
  const policy = (document as unknown as { featurePolicy?: FeaturePolicy }).featurePolicy;
  return !policy || features.every((name) => policy.allowsFeature(name)) || underOurHeader();
}

/** What of a reading this frame may see. */
export function permitted(reading: Reading): Reading {
  const [felt, turned] = [allowedByPage("accelerometer"), allowedByPage("gyroscope")];
  return {
    acceleration: felt ? reading.acceleration : null,
    accelerationIncludingGravity: felt ? reading.accelerationIncludingGravity : null,
    gravity: felt ? reading.gravity : null,
    rotationRate: turned ? reading.rotationRate : null,
    orientation: felt && turned ? reading.orientation : null,
  };
}

export function underOurHeader(): boolean {
  const policy = (document as unknown as { featurePolicy?: FeaturePolicy }).featurePolicy;
  return policy !== undefined && FEATURES.every((name) => !policy.allowsFeature(name)) && sameOriginAsTop();
}

/** A fenced frame is its own top. */
function sameOriginAsTop(): boolean {
  try {
    return Boolean(window.top?.document) && !(window as { fence?: object | null }).fence;
  } catch {
    return false;
  }
}
