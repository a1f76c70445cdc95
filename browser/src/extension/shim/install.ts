// What motion sensors are to the page from now on.
import { NOTHING, type Status } from "deeprotect";
import type { Said } from "../messages";
import { decide } from "../policy";
import { Events } from "./events";
import type { Giver } from "./link";
import { bare, defineProperty, dispatchNative } from "./natives";
import { answerPermissions } from "./permissions";
import { Playing } from "./playing";
import { Sensors } from "./sensors";

export function install(giver: Giver): void {
  const events = new Events(giver);
  const sensors = new Sensors(giver);
  const playing = new Playing((reading, timestamp) => {
    events.dispatch(reading);
    sensors.dispatch(reading, timestamp);
  }, () => giver.isAsked);
  answerPermissions(giver);
  giver.onSaid((said: Said) => {
    if (said.kind === "allowed") decide(said.features);
    if (said.kind === "status") showStatus(said.status);
    if (said.kind === "active") sensors.activate(said.available);
    if (said.kind === "unavailable" || said.kind === "denied") {
      sensors.fail(said.kind === "denied" ? "NotAllowedError" : "NotReadableError");
      events.dispatch(NOTHING); // as the platform: one event without values
    }
    if (said.kind === "window") {
      events.interval = said.slotMs / said.readings.length;
      playing.add(said);
    }
  });
}

/** A mark that a page may read where the person allows it: `navigator.deeprotect`, and an event when it changes. */
function showStatus(status: Status): void {
  defineProperty(navigator, "deeprotect", bare({ value: Object.freeze({ ...status }), configurable: true, enumerable: true }));
  dispatchNative(window, new Event("deeprotectstatus"));
}
