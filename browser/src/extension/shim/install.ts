// Replaces the page's motion sensors by released ones.
import { NOTHING, type Status } from "deeprotect";
import { decide } from "../policy";
import { Events } from "./events";
import type { Provider } from "./link";
import { defineProperty, dispatchNative, withoutPrototype } from "./natives";
import { answerPermissions } from "./permissions";
import { Player } from "./player";
import { Sensors } from "./sensors";

export function install(provider: Provider): void {
  const events = new Events(provider);
  const sensors = new Sensors(provider);
  const player = new Player(
    (reading, timestamp) => {
      events.dispatch(reading);
      sensors.dispatch(reading, timestamp);
    },
    () => provider.isWanted,
  );
  answerPermissions(provider);
  provider.onUpdate((update) => {
    if (update.kind === "allowed") decide(update.features);
    if (update.kind === "status") showStatus(update.status);
    if (update.kind === "active") sensors.activate(update.available);
    if (update.kind === "unavailable" || update.kind === "denied") {
      sensors.fail(update.kind === "denied" ? "NotAllowedError" : "NotReadableError");
      events.dispatch(NOTHING); // as the platform: one event without values
    }
    if (update.kind === "window") {
      events.interval = update.slotMs / update.readings.length;
      player.add(update);
    }
  });
}

/** For pages that the person lets know: `navigator.deeprotect`, and an event when it changes. */
function showStatus(status: Status): void {
  const value = Object.freeze({ ...status });
  defineProperty(navigator, "deeprotect", withoutPrototype({ value, configurable: true, enumerable: true }));
  dispatchNative(window, new Event("deeprotectstatus"));
}
