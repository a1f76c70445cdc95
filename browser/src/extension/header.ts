// The header rule, and how a page that came under it is told from one that denies motion to itself.

/** The fourth is there as a mark: pages that deny these three to themselves seldom deny it, too. */
export const FEATURES = ["accelerometer", "gyroscope", "magnetometer", "ambient-light-sensor"];

interface FeaturePolicy {
  allowsFeature(name: string): boolean;
}

/** Whether this frame may read motion by the page's own policy; under our header, if it is of the page's own origin. */
export function allowedByPage(feature = "accelerometer"): boolean {
  const policy = (document as unknown as { featurePolicy?: FeaturePolicy }).featurePolicy;
  return !policy || policy.allowsFeature(feature) || underOurHeader();
}

export function underOurHeader(): boolean {
  const policy = (document as unknown as { featurePolicy?: FeaturePolicy }).featurePolicy;
  return policy !== undefined && FEATURES.every((name) => !policy.allowsFeature(name)) && sameOriginAsTop();
}

function sameOriginAsTop(): boolean {
  try {
    return Boolean(window.top?.document);
  } catch {
    return false;
  }
}
