// What a page is told when it asks whether it may read motion: what the person chose for the site.
import type { Giver } from "./link";
import { FEATURES, type Feature, MARK } from "../header";
import { maybeAllowed } from "../policy";
import { replace } from "./natives";

const NAMES = ["accelerometer", "gyroscope", "magnetometer"];
type Requester = { prototype: object; requestPermission?: unknown } | undefined;

/** The page's own policy, without our header; of frames' policies the browser's own is told. */
function answerPolicy(): void {
  const { FeaturePolicy } = window as unknown as { FeaturePolicy?: { prototype: object } };
  const { featurePolicy: own } = document as unknown as { featurePolicy?: { getAllowlistForFeature(name: string): string[] } };
  if (!FeaturePolicy || !own) return;
  const marked = FEATURES.filter((feature) => own.getAllowlistForFeature(feature).includes(MARK));
  const isOurs = (self: unknown, name: unknown): name is Feature => self === own && FEATURES.includes(name as Feature) && maybeAllowed(name as Feature);
  replace(FeaturePolicy.prototype, "allowsFeature", (self, args, native) => (args.length === 1 && isOurs(self, args[0])) || native());
  replace(FeaturePolicy.prototype, "getAllowlistForFeature", (self, args, native) => (isOurs(self, args[0]) && marked.includes(args[0]) ? [window.origin] : native()));
  replace(FeaturePolicy.prototype, "allowedFeatures", (self, _, native) => {
    const names = native() as string[];
    return self === own ? [...names, ...FEATURES.filter((feature) => maybeAllowed(feature) && !names.includes(feature))] : names;
  });
}

export function answerPermissions(giver: Giver): void {
  answerPolicy();
  const states = new WeakMap<object, PermissionState>();
  replace(Permissions.prototype, "query", (_, args, native) => {
    const name = args.length ? (args[0] as { name?: unknown } | null)?.name : undefined;
    const asked = native() as Promise<PermissionStatus>;
    if (!NAMES.includes(String(name))) return asked;
    return asked.then(async (status) => {
      states.set(status, await giver.permission());
      return status;
    });
  });
  replace(PermissionStatus.prototype, "state", (self, _, native) => states.get(self as object) ?? native());
  for (const name of ["DeviceMotionEvent", "DeviceOrientationEvent"]) {
    const requester = (window as unknown as { [name: string]: Requester })[name];
    if (!requester?.requestPermission) continue;
    // The browser still refuses to be asked without a click; its answer is about raw readings, ours about released ones.
    replace(requester, "requestPermission", (_, __, native) => (native() as Promise<unknown>).then(() => giver.permission()));
  }
}
