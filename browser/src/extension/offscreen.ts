// The only document with raw readings: an offscreen document that releases them and sends pages what was released. It
// exists while a page reads, and until the last draw expires, so that a page that returns sooner gets no second draw.
import { Ledger, Slots, stricter } from "deeprotect";
import { Stream } from "../platform/stream";
import { loadExported } from "./files";
import { STATUS, STREAM, type Update } from "./messages";
import { DEFAULTS, type Settings, holdOf, isOff, siteOf, whenSpentOf } from "./settings";
import { get, put } from "./store";

const CONNECTING_MS = 2000; // from the request for this document to a page's connection

const natives = { add: window.addEventListener.bind(window), remove: window.removeEventListener.bind(window) };
/** Open ports, and how to unsubscribe each. */
const ports = new Map<chrome.runtime.Port, () => void>();
/** One for the document's life: two ledgers on one store could lose a charge. */
const ledger = new Ledger({ load: () => get("charges"), save: (charges) => put("charges", charges) });
let settings: Settings = DEFAULTS;
/** Stored, so that a page learns of sensors as soon as on any other device. */
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
  const slots = new Slots(bundle, ledger, choices);
  const stream = new Stream(slots, natives, choices.whenSpent, memory);
  stream.onstatus = (status) => statuses.postMessage(status);
  return stream;
}

statuses.onmessage = async () => statuses.postMessage((await source).status);

/** Checks at the browser's start whether there are sensors; the reading itself is not kept. */
function detectSensors(event: Event): void {
  natives.remove("devicemotion", detectSensors);
  if (event.isTrusted && (event as DeviceMotionEvent).accelerationIncludingGravity?.x != null) memory.has = true;
}
natives.add("devicemotion", detectSensors);

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

async function join(port: chrome.runtime.Port): Promise<void> {
  ports.set(port, () => {});
  port.onDisconnect.addListener(() => leave(port));
  const ready = await source;
  if (!ports.has(port)) return;
  const send = (update: Update): void => port.postMessage(update);
  if (isOff(settings, siteOf(port.sender))) send({ kind: "denied" });
  else ports.set(port, ready.subscribe(send, Number(port.name.slice(STREAM.length))));
}

chrome.runtime.onConnect.addListener((port) => {
  if (port.name.startsWith(STREAM)) void join(port);
});
void closeLater();
