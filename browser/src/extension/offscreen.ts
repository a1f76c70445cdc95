// The one place where raw readings are: an offscreen document that releases them and hands on what was released.
import { Channels, Ledger, Session, stricter } from "deeprotect";
import { Source } from "../platform/source";
import { loadExported } from "./files";
import { STREAM, type Said } from "./messages";
import { DEFAULTS, type Settings, holdOf, isOff, siteOf } from "./settings";
import { get, put } from "./store";

const natives = { add: window.addEventListener.bind(window), remove: window.removeEventListener.bind(window) };
const ports = new Set<chrome.runtime.Port>();
/** One for the document's life: two ledgers on one store could lose a charge. */
const ledger = new Ledger({ load: () => get("charges"), save: (charges) => put("charges", charges) });
let settings: Settings = DEFAULTS;
let source = load();

async function load(): Promise<Source> {
  settings = (await get("settings")) ?? DEFAULTS;
  const bundle = await loadExported();
  ledger.budget = stricter(settings.budget, bundle.policy.budget);
  const { uncovered, whenSpent } = settings;
  const session = new Session(bundle, new Channels(bundle.places), ledger, { hold: holdOf(bundle, settings), uncovered, whenSpent });
  return new Source(session, natives as ConstructorParameters<typeof Source>[1]);
}

// A change of settings ends all streams; pages that still listen connect again.
new BroadcastChannel("settings").onmessage = () => {
  source = load();
  ports.forEach((port) => leave(port).disconnect());
};

function leave(port: chrome.runtime.Port): chrome.runtime.Port {
  ports.delete(port);
  unsubscribe.get(port)?.();
  unsubscribe.delete(port);
  return port;
}

const unsubscribe = new Map<chrome.runtime.Port, () => void>();

chrome.runtime.onConnect.addListener(async (port) => {
  if (port.name !== STREAM) return;
  ports.add(port);
  port.onDisconnect.addListener(() => leave(port));
  const ready = await source;
  if (!ports.has(port)) return;
  const say = (said: Said) => port.postMessage(said);
  if (isOff(settings, siteOf(port.sender))) say({ kind: "denied" });
  else unsubscribe.set(port, ready.subscribe(say));
});
