// What a page is told when it asks whether it may read motion: what the person chose for the site.
import type { Giver } from "./link";
import { replace } from "./natives";

const NAMES = ["accelerometer", "gyroscope", "magnetometer"];
type Requester = { prototype: object; requestPermission?: unknown } | undefined;

export function answerPermissions(giver: Giver): void {
  const states = new WeakMap<object, PermissionState>();
  replace(Permissions.prototype, "query", (_, args, native) => {
    const name = (args[0] as { name?: unknown } | undefined)?.name;
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
