// In every page, in the page's own world, before its first script: what motion sensors are to the page.
import { NOTHING } from "../../platform/reading";
import { underOurHeader } from "../header";
import type { Said } from "../messages";
import { Events } from "./events";
import { Link } from "./link";
import { answerPermissions } from "./permissions";
import { Sensors } from "./sensors";

function install(): void {
  const link = new Link();
  const events = new Events(link);
  const sensors = new Sensors(link, underOurHeader);
  answerPermissions(link);
  link.onSaid((said: Said) => {
    if (said.kind === "active") sensors.activate(said.available);
    if (said.kind === "unavailable" || said.kind === "denied") {
      sensors.fail(said.kind === "denied" ? "NotAllowedError" : "NotReadableError");
      events.dispatch(NOTHING); // as the platform: one event without values
    }
    if (said.kind === "reading") {
      events.dispatch(said.reading);
      sensors.dispatch(said.reading, said.time);
    }
  });
}

if (window.isSecureContext) install();
