// Windows that the page opens: before they are pages of their own they have no header and no script of ours, and here
// they lose what could read motion. A script that comes later with a page makes sensors of our own there. It stops what
// pages usually do, and no page that wants to get around it: the browser's own setting does that.
import { CLASSES, EVENTS } from "./motion";
import { addNative, apply, cancelNative, getterOf, inheritFrom, replace, replaceClass, stopNative, typeOfEvent, uncurried } from "./natives";

const classes = Object.keys(CLASSES);
const events = Object.keys(EVENTS);
const shutAlready = new WeakSet<object>();
const { add, has } = WeakSet.prototype;
const pathOf = Event.prototype.composedPath;
const Denied = DOMException;
const viewOf = getterOf(Document.prototype, "defaultView");
const attributeOf = Element.prototype.getAttribute;
const firstOf = uncurried(Document.prototype.querySelector);
const submitterOf = getterOf(SubmitEvent.prototype, "submitter");

type Opened = Window & typeof globalThis;

/** Those that `opener` opens from now on. */
export function shutOpened(opener: Opened = window): void {
  replace(opener, "open", (_, __, native) => {
    const opened = native() as Opened | null;
    if (opened && isBlank(opened)) shut(opened);
    return opened;
  });
  // A document that is opened again loses its window's listeners.
  for (const name of ["open", "write", "writeln"]) {
    replace(opener.Document.prototype, name, (self, _, native) => {
      const result = native();
      const view = viewOf(self) as Opened | null;
      if (view && apply(has, shutAlready, [view])) guard(view);
      if (view === window) watch(opener);
      return result;
    });
  }
  replace(opener.HTMLFormElement.prototype, "submit", (self, _, native) => (runsElsewhere(self) ? undefined : native()));
  watch(opener);
}

/** One of another origin keeps its secrets from the page, too. */
function isBlank(opened: Opened): boolean {
  try {
    return opened.location.href === "about:blank";
  } catch {
    return false;
  }
}

/** A page of the page's own making has no header, and frames in it that never load have no script of ours. */
export function shutFrames(): void {
  if (window !== window.parent || window.location.protocol !== "blob:") return;
  const shutAll = (): void => {
    for (let at = 0; at < window.length; at += 1) if (isBlank(window[at] as Opened)) shut(window[at] as Opened);
  };
  new MutationObserver(shutAll).observe(document, { childList: true, subtree: true }); // before any observer of the page's
}

function shut(opened: Opened): void {
  if (apply(has, shutAlready, [opened])) return;
  apply(add, shutAlready, [opened]);
  shutOpened(opened);
  for (let at = 0; at < classes.length; at += 1) {
    replaceClass(opened, classes[at]!, () => {
      throw new Denied("Access to the feature is disallowed by permissions policy.", "SecurityError");
    });
  }
  inheritFrom(opened, "Accelerometer", "LinearAccelerationSensor");
  inheritFrom(opened, "Accelerometer", "GravitySensor");
  guard(opened);
}

function guard(opened: Opened): void {
  for (let at = 0; at < events.length; at += 1) addNative(opened, events[at]!, stop, true);
}

function stop(event: Event): void {
  if (event.isTrusted) stopNative(event);
}

/** A link or form whose script would run in another window, before anything could be shut there. */
function watch(opener: Opened): void {
  addNative(opener, "click", cancelScript, true);
  addNative(opener, "submit", cancelScript, true);
}

function cancelScript(event: Event): void {
  const path = apply(pathOf, event, []) as unknown[];
  const button = typeOfEvent(event) === "submit" ? submitterOf(event) : null;
  for (let at = 0; at < path.length; at += 1) if (runsElsewhere(path[at], button)) cancelNative(event);
}

/** Whether following this link, or sending this form, runs a script in another window. */
function runsElsewhere(element: unknown, button: unknown = null): boolean {
  const target = attribute(button, "formtarget") ?? attribute(element, "target") ?? attribute(firstOf(document, "base[target]"), "target");
  if (!target || isHere(target)) return false;
  return isScript(attribute(element, "href")) || isScript(attribute(element, "xlink:href")) || isScript(attribute(button, "formaction") ?? attribute(element, "action"));
}

function attribute(element: unknown, name: string): string | null {
  try {
    return element ? (apply(attributeOf, element, [name]) as string | null) : null;
  } catch {
    return null; // the window and the document are on the path, too
  }
}

function isHere(target: string): boolean {
  if (target.length === 4) return spells(target, "_top", "_TOP");
  return target.length === 5 ? spells(target, "_self", "_SELF") : target.length === 7 && spells(target, "_parent", "_PARENT");
}

function isScript(url: string | null): boolean {
  return url !== null && spells(url, "javascript:", "JAVASCRIPT:");
}

/** Whether a text begins with a word, as addresses are read; by its letters alone, whatever the page did to functions of texts. */
function spells(text: string, lower: string, upper: string): boolean {
  let at = 0;
  while (at < text.length && text[at]! <= " ") at += 1;
  for (let letter = 0; letter < lower.length; letter += 1, at += 1) {
    while (text[at] === "\t" || text[at] === "\n" || text[at] === "\r") at += 1;
    if (text[at] !== lower[letter] && text[at] !== upper[letter]) return false;
  }
  return true;
}
