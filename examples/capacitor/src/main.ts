// The example of @capacitor/motion's own page with one import changed: it was from "@capacitor/motion".
import type { PluginListenerHandle } from "@capacitor/core";
import { Preferences } from "@capacitor/preferences";
import { Motion, protect, storeIn } from "deeprotect/capacitor";
import protector from "../../protector.json";

const storage = {
  getItem: async (key: string) => (await Preferences.get({ key })).value,
  setItem: (key: string, value: string) => Preferences.set({ key, value }),
};
protect(protector, { store: storeIn(storage) });

const shown = document.querySelector("#shown")!;
let handler: PluginListenerHandle | undefined;

document.querySelector("#start")!.addEventListener("click", async () => {
  // iOS asks the person for motion, and only from a click.
  const { requestPermission } = DeviceMotionEvent as { requestPermission?: () => Promise<PermissionState> };
  if (requestPermission && (await requestPermission()) !== "granted") return;
  handler ??= await Motion.addListener("accel", (event) => {
    shown.textContent = JSON.stringify(event.accelerationIncludingGravity, null, 1);
  });
});

document.querySelector("#stop")!.addEventListener("click", async () => {
  await handler?.remove();
  handler = undefined;
});
