// Windows that the page opens: before they are pages of their own they have no header and no script of ours, and here
// they lose what could read motion. A script that comes later with a page makes sensors of our own there.
import { addNative, inheritFrom, replace, replaceClass, stopNative } from "./natives";

const CLASSES = ["Accelerometer", "LinearAccelerationSensor", "GravitySensor", "Gyroscope", "Magnetometer", "AbsoluteOrientationSensor", "RelativeOrientationSensor"];
const EVENTS = ["devicemotion", "deviceorientation", "deviceorientationabsolute"];
const shutAlready = new Set<unknown>();

type Opened = Window & typeof globalThis;

/** Those that `opener` opens from now on. */
export function shutOpened(opener: Opened = window): void {
  replace(opener, "open", (_, __, native) => {
    const opened = native() as Opened | null;
    if (opened && isBlank(opened)) shut(opened);
    return opened;
  });
}

/** One of another origin keeps its secrets from the page, too. */
function isBlank(opened: Opened): boolean {
  try {
    return opened.location.href === "about:blank";
  } catch {
    return false;
  }
}

function shut(opened: Opened): void {
  if (shutAlready.has(opened)) return;
  shutAlready.add(opened);
  shutOpened(opened);
  for (const name of CLASSES) {
    replaceClass(opened, name, () => {
      throw new DOMException("Access to the feature is disallowed by permissions policy.", "SecurityError");
    });
  }
  inheritFrom(opened, "Accelerometer", ["LinearAccelerationSensor", "GravitySensor"]);
  guard(opened);
  for (const name of ["open", "write", "writeln"]) {
    replace(opened.Document.prototype, name, (_, __, native) => {
      const result = native();
      guard(opened); // a document that is opened again loses its window's listeners
      return result;
    });
  }
}

function guard(opened: Opened): void {
  for (const type of EVENTS) addNative(opened, type, stop, true);
}

function stop(event: Event): void {
  if (event.isTrusted) stopNative(event);
}
