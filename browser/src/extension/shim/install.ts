// What motion sensors are to the page from now on.
import { NOTHING } from "deeprotect";
import type { Feature } from "../header";
import type { Said } from "../messages";
import { Events } from "./events";
import type { Giver } from "./link";
import { answerPermissions } from "./permissions";
import { Playing } from "./playing";
import { Sensors } from "./sensors";

/** `mayReplace` says whether sensors may be made where the browser refuses to. */
export function install(giver: Giver, mayReplace: (...features: readonly Feature[]) => boolean): void {
  const events = new Events(giver);
  const sensors = new Sensors(giver, mayReplace);
  const playing = new Playing((reading, timestamp) => {
    events.dispatch(reading);
    sensors.dispatch(reading, timestamp);
  }, () => giver.isAsked);
  answerPermissions(giver);
  giver.onSaid((said: Said) => {
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
