// The one place where raw readings are: an offscreen document that releases them and hands on what was released. It is
// there while somebody reads, and until the last draw is over: whoever comes back sooner gets no other one.
import { Ledger, Slots, stricter } from "deeprotect";
import { Stream } from "../platform/stream";
import { loadExported } from "./files";
import { STATUS, STREAM, type Said } from "./messages";
import { DEFAULTS, type Settings, holdOf, isOff, siteOf, whenSpentOf } from "./settings";
import { get, put } from "./store";

const CONNECTING_MS = 2000; // from the question for this document to a page's connection

const natives = { add: window.addEventListener.bind(window), remove: window.removeEventListener.bind(window) };
/** Open ports, and how to unsubscribe each. */
const ports = new Map<chrome.runtime.Port, () => void>();
/** One for the document's life: two ledgers on one store could lose a charge. */
const ledger = new Ledger({ load: () => get("charges"), save: (charges) => put("charges", charges) });
let settings: Settings = DEFAULTS;
/** Kept, so that a page is told of sensors as soon as any other would be. */
const memory = {
  known: false,
  get has(): boolean {
    return this.known;
  },
  set has(has: boolean) {
    this.known = has;
    void put("sensors", has);
  },
};
const statuses = new BroadcastChannel(STATUS);
let source = load();

async function load(): Promise<Stream> {
  settings = { ...DEFAULTS, ...(await get("settings")) };
  memory.known ||= (await get("sensors")) ?? false;
  const bundle = await loadExported();
  ledger.budget = stricter(settings.budget, bundle.policy.budget);
  const { uncovered } = settings;
  const choices = { hold: holdOf(bundle, settings), uncovered, whenSpent: whenSpentOf(bundle, settings) };
  const stream = new Stream(new Slots(bundle, ledger, choices), natives as ConstructorParameters<typeof Stream>[1], choices.whenSpent, memory);
  stream.onstatus = (status) => statuses.postMessage(status);
  return stream;
}

statuses.onmessage = async () => statuses.postMessage((await source).status);

/** When the browser starts this document looks whether there are sensors: a reading of them, and nothing of it is kept. */
function look(event: Event): void {
  natives.remove("devicemotion", look);
  if (event.isTrusted && (event as DeviceMotionEvent).accelerationIncludingGravity?.x != null) memory.has = true;
}
natives.add("devicemotion", look);

// A change of settings ends all streams; pages that still listen connect again.
new BroadcastChannel("settings").onmessage = () => {
  source = load();
  ports.forEach((_, port) => leave(port).disconnect());
};

function leave(port: chrome.runtime.Port): chrome.runtime.Port {
  ports.get(port)?.();
  ports.delete(port);
  if (!ports.size) void closeLater();
  return port;
}

let closing: ReturnType<typeof setTimeout> | undefined;

async function closeLater(): Promise<void> {
  const wait = Math.max((await source).episodeEnd - Date.now(), CONNECTING_MS);
  clearTimeout(closing);
  closing = setTimeout(() => !ports.size && window.close(), wait);
}

chrome.runtime.onConnect.addListener(async (port) => {
  if (!port.name.startsWith(STREAM)) return;
  ports.set(port, () => {});
  port.onDisconnect.addListener(() => leave(port));
  const ready = await source;
  if (!ports.has(port)) return;
  const say = (said: Said) => port.postMessage(said);
  if (isOff(settings, siteOf(port.sender))) say({ kind: "denied" });
  else ports.set(port, ready.subscribe(say, Number(port.name.slice(STREAM.length))));
});
void closeLater();
