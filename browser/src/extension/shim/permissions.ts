// Answers a page's questions about permission with the person's choice for its site.
import { FEATURES, type Feature, MARK } from "../header";
import { maybeAllowed } from "../policy";
import type { Provider } from "./link";
import { replace } from "./natives";

const NAMES = ["accelerometer", "gyroscope", "magnetometer"];
type Requester = { prototype: object; requestPermission?: unknown } | undefined;

/** Answers with the page's own policy, without our header; policies of its frames' elements stay the browser's. */
function answerPolicy(): void {
  const { FeaturePolicy } = window as unknown as { FeaturePolicy?: { prototype: object } };
  const { featurePolicy: page } = document as unknown as {
    featurePolicy?: { getAllowlistForFeature(name: string): string[] };
  };
  if (!FeaturePolicy || !page) return;
  const marked = FEATURES.filter((feature) => page.getAllowlistForFeature(feature).includes(MARK));
  const isAllowed = (self: unknown, name: unknown): name is Feature =>
    self === page && FEATURES.includes(name as Feature) && maybeAllowed(name as Feature);
  const { prototype } = FeaturePolicy;
  replace(prototype, "allowsFeature", (self, args, native) => {
    return (args.length === 1 && isAllowed(self, args[0])) || native();
  });
  replace(prototype, "getAllowlistForFeature", (self, args, native) => {
    return isAllowed(self, args[0]) && marked.includes(args[0]) ? [window.origin] : native();
  });
  replace(prototype, "allowedFeatures", (self, _, native) => {
    const names = native() as string[];
    const more = FEATURES.filter((feature) => maybeAllowed(feature) && !names.includes(feature));
    return self === page ? [...names, ...more] : names;
  });
}

export function answerPermissions(provider: Provider): void {
  answerPolicy();
  const states = new WeakMap<object, PermissionState>();
  replace(Permissions.prototype, "query", (_, args, native) => {
    const name = args.length ? (args[0] as { name?: unknown } | null)?.name : undefined;
    const asked = native() as Promise<PermissionStatus>;
    if (!NAMES.includes(String(name))) return asked;
    return asked.then(async (status) => {
      states.set(status, await provider.permission());
      return status;
    });
  });
  replace(PermissionStatus.prototype, "state", (self, _, native) => states.get(self as object) ?? native());
  for (const name of ["DeviceMotionEvent", "DeviceOrientationEvent"]) {
    const requester = (window as unknown as { [name: string]: Requester })[name];
    if (!requester?.requestPermission) continue;
    // The browser still refuses to be asked without a click; its answer concerns raw readings, ours released ones.
    replace(requester, "requestPermission", (_, __, native) => {
      return (native() as Promise<unknown>).then(() => provider.permission());
    });
  }
}
