// Windows that the page opens: until they have loaded, they have neither the header nor the shim, so they lose what
// could read motion; the shim of a page that loads later makes sensors of its own there. This stops what pages usually
// do, but no page that wants raw motion: only the browser's own setting does.
import { CLASSES, EVENTS, PREFIX, isMotion, typeIn } from "./motion";
import {
  addNative,
  apply,
  cancelNative,
  getterOf,
  inheritFrom,
  isWindow,
  replace,
  replaceAccessor,
  replaceClass,
  stopNative,
  typeOfEvent,
  uncurried,
} from "./natives";

const classes = Object.keys(CLASSES);
const events = Object.keys(EVENTS);
const disabled = new WeakSet<object>();
const { add, has } = WeakSet.prototype;
const pathOf = uncurried(Event.prototype.composedPath) as (event: Event) => unknown[];
const NativeError = DOMException;
const viewOf = getterOf(Document.prototype, "defaultView");
const attributeOf = uncurried(Element.prototype.getAttribute) as (element: unknown, name: string) => string | null;
const setAttribute = uncurried(Element.prototype.setAttribute) as (element: unknown, name: string, to: string) => void;
const isCancelable = getterOf(Event.prototype, "cancelable") as (event: Event) => boolean;
const firstOf = uncurried(Document.prototype.querySelector);
const submitterOf = getterOf(SubmitEvent.prototype, "submitter");

type Opened = Window & typeof globalThis;

/** Disables motion in windows that `opener` opens from now on. */
export function disableInOpened(opener: Opened = window): void {
  replace(opener, "open", (_, __, native) => {
    const opened = native() as Opened | null;
    if (opened && isBlank(opened)) disable(opened);
    return opened;
  });
  // Opening a document again removes its window's listeners.
  for (const name of ["open", "write", "writeln"]) {
    replace(opener.Document.prototype, name, (self, _, native) => {
      const result = native();
      const view = viewOf(self) as Opened | null;
      if (view && apply(has, disabled, [view])) blockEvents(view);
      if (view === window) blockScripts(opener);
      if (isWindow(result) && isBlank(result as Opened)) disable(result as Opened); // with three arguments
      return result;
    });
  }
  replace(opener.HTMLFormElement.prototype, "submit", (self, _, native) =>
    runsInOtherWindow(self) ? undefined : native(),
  );
  blockScripts(opener);
}

/** False for a window of another origin, whose values the page cannot read either. */
function isBlank(opened: Opened): boolean {
  try {
    const { protocol, pathname } = opened.location; // it may have a query or a fragment
    return protocol === "about:" && pathname === "blank";
  } catch {
    return false;
  }
}

/** Disables motion in frames of a page that a page made: it has no header, and frames that never load have no shim. */
export function disableInFrames(): void {
  if (window !== window.parent || window.location.protocol !== "blob:") return;
  const disableAll = (): void => {
    for (let at = 0; at < window.length; at += 1) if (isBlank(window[at] as Opened)) disable(window[at] as Opened);
  };
  // Registered before any observer of the page's.
  new MutationObserver(disableAll).observe(document, { childList: true, subtree: true });
}

function disable(opened: Opened): void {
  if (apply(has, disabled, [opened])) return;
  apply(add, disabled, [opened]);
  disableInOpened(opened);
  for (let at = 0; at < classes.length; at += 1) {
    replaceClass(opened, classes[at]!, () => {
      throw new NativeError("Access to the feature is disallowed by permissions policy.", "SecurityError");
    });
  }
  inheritFrom(opened, "Accelerometer", "LinearAccelerationSensor");
  inheritFrom(opened, "Accelerometer", "GravitySensor");
  renameTypes(opened);
  blockEvents(opened);
}

/** Scripts can run before events are blocked again: those of a document while it is opened and written. */
function renameTypes(opened: Opened): void {
  for (const name of ["addEventListener", "when"]) {
    replace(opened.EventTarget.prototype, name, (_, args, native) => {
      const type = args.length ? typeIn(args) : "";
      if (isMotion(type)) args[0] = PREFIX + type;
      return native(args);
    });
  }
  for (let at = 0; at < events.length; at += 1) replaceAccessor(opened, `on${events[at]!}`, { set: () => undefined });
}

function blockEvents(opened: Opened): void {
  for (let at = 0; at < events.length; at += 1) addNative(opened, events[at]!, stopTrusted, true);
}

function stopTrusted(event: Event): void {
  if (event.isTrusted) stopNative(event);
}

/** Cancels links and forms whose script would run in another window before motion could be disabled there. */
function blockScripts(opener: Opened): void {
  addNative(opener, "click", cancelScript, true);
  addNative(opener, "submit", cancelScript, true);
}

function cancelScript(event: Event): void {
  const path = pathOf(event);
  const button: unknown = typeOfEvent(event) === "submit" ? submitterOf(event) : null;
  for (let at = 0; at < path.length; at += 1) {
    if (!runsInOtherWindow(path[at], button)) continue;
    cancelNative(event);
    if (!isCancelable(event)) setAttribute(path[at], "target", "_self"); // an event that the page made
  }
}

/** Whether following this link, or submitting this form, runs a script in another window. */
function runsInOtherWindow(element: unknown, button: unknown = null): boolean {
  const own = attribute(button, "formtarget") ?? attribute(element, "target");
  const target = own ?? attribute(firstOf(document, "base[target]"), "target");
  if (!target || isSameTab(target)) return false;
  const action = attribute(button, "formaction") ?? attribute(element, "action");
  return isScript(attribute(element, "href")) || isScript(attribute(element, "xlink:href")) || isScript(action);
}

/** Null also for the window and the document, which are part of an event's path. */
function attribute(element: unknown, name: string): string | null {
  try {
    return element ? attributeOf(element, name) : null;
  } catch {
    return null;
  }
}

function isSameTab(target: string): boolean {
  if (target.length === 4) return hasPrefix(target, "_top", "_TOP");
  if (target.length === 5) return hasPrefix(target, "_self", "_SELF");
  return target.length === 7 && hasPrefix(target, "_parent", "_PARENT");
}

function isScript(url: string | null): boolean {
  return url !== null && hasPrefix(url, "javascript:", "JAVASCRIPT:");
}

/** Compares as URLs are parsed, letter by letter: a page can replace the functions of strings. */
function hasPrefix(text: string, lower: string, upper: string): boolean {
  let at = 0;
  while (at < text.length && text[at]! <= " ") at += 1;
  for (let letter = 0; letter < lower.length; letter += 1, at += 1) {
    while (text[at] === "\t" || text[at] === "\n" || text[at] === "\r") at += 1;
    if (text[at] !== lower[letter] && text[at] !== upper[letter]) return false;
  }
  return true;
}
