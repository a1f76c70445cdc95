// The one place where raw readings are: an offscreen document that releases them and hands on what was released.
import type { Reading, Vector } from "../platform/reading";
import { Session } from "../platform/session";
import { Ledger } from "../runtime/ledger";
import { loadExported } from "./files";
import { type Available, STREAM, type Said } from "./messages";
import { DEFAULTS, type Settings, holdOf, isOff, siteOf } from "./settings";
import { get, put } from "./store";

const TICK_MS = 1000 / 60;
const RETRY_MS = 3000;
const SILENT_MS = 1500; // without a reading for so long there is no sensor

type Sensors = "idle" | "starting" | "active" | "unavailable";

class Source {
  private readonly ports = new Set<chrome.runtime.Port>();
  private state: Sensors = "idle";
  private timer = 0;
  private startedAt = 0;

  private constructor(private readonly session: Session, private readonly available: Available) {}

  static async make(settings: Settings): Promise<Source> {
    const { bundle, channels } = await loadExported();
    const ledger = new Ledger({ load: () => get("charges"), save: (charges) => put("charges", charges) }, settings.budget);
    const choices = { hold: holdOf(bundle, settings), uncovered: settings.uncovered, whenSpent: settings.whenSpent };
    const rest = settings.uncovered === "rest";
    const acceleration = rest || channels.covered.has("accelerationIncludingGravity") || channels.covered.has("acceleration");
    const available = {
      acceleration,
      rotationRate: rest || channels.covered.has("rotationRate"),
      orientation: rest || channels.covered.has("accelerationIncludingGravity"),
    };
    return new Source(new Session(bundle, channels, ledger, choices), available);
  }

  connect(port: chrome.runtime.Port): void {
    this.ports.add(port);
    port.onDisconnect.addListener(() => this.disconnect(port));
    if (this.state === "idle") this.start();
    else if (this.state !== "starting") say(port, this.answer());
  }

  stop(): void {
    this.ports.forEach((port) => port.disconnect());
    this.ports.clear();
    this.pause();
  }

  private disconnect(port: chrome.runtime.Port): void {
    this.ports.delete(port);
    if (!this.ports.size) this.pause();
  }

  private start(): void {
    this.state = "starting";
    this.startedAt = performance.now();
    this.session.start(this.startedAt);
    window.addEventListener("devicemotion", this.onMotion);
    this.timer = window.setInterval(() => this.tick(), TICK_MS);
  }

  /** A sensor may come back, or be allowed while a page waits. */
  private listenAgain(now: number): void {
    this.startedAt = now;
    window.removeEventListener("devicemotion", this.onMotion);
    window.addEventListener("devicemotion", this.onMotion);
  }

  private pause(): void {
    this.state = "idle";
    window.removeEventListener("devicemotion", this.onMotion);
    window.clearInterval(this.timer);
  }

  private readonly onMotion = (event: DeviceMotionEvent): void => {
    const { acceleration, accelerationIncludingGravity, rotationRate } = event;
    const raw = {
      acceleration: vector(acceleration, ["x", "y", "z"]),
      accelerationIncludingGravity: vector(accelerationIncludingGravity, ["x", "y", "z"]),
      rotationRate: vector(rotationRate, ["alpha", "beta", "gamma"]),
    };
    const found: Sensors = this.session.read(raw) ? "active" : "unavailable";
    if (found !== this.state) this.become(found);
  };

  private become(state: Sensors): void {
    this.state = state;
    this.ports.forEach((port) => say(port, this.answer()));
  }

  private answer(): Said {
    return this.state === "active" ? { kind: "active", available: this.available } : { kind: "unavailable" };
  }

  private tick(): void {
    const now = performance.now();
    if (this.state === "starting" && now - this.startedAt > SILENT_MS) this.become("unavailable");
    if (this.state === "unavailable" && now - this.startedAt > RETRY_MS) this.listenAgain(now);
    const reading: Reading | null = this.session.tick(now);
    if (!reading || this.state !== "active") return;
    const said: Said = { kind: "reading", reading, time: performance.timeOrigin + now };
    this.ports.forEach((port) => say(port, said));
  }
}

function vector<Name extends string>(given: { [name in Name]: number | null } | null, names: [Name, Name, Name]): Vector | null {
  const values = names.map((name) => given?.[name] ?? null);
  return values.every((value) => value !== null) ? (values as unknown as Vector) : null;
}

function say(port: chrome.runtime.Port, said: Said): void {
  port.postMessage(said);
}

let settings: Settings = DEFAULTS;
let source = load();

async function load(): Promise<Source> {
  settings = (await get("settings")) ?? DEFAULTS;
  return Source.make(settings);
}

// A change of settings ends all streams; pages that still listen connect again.
new BroadcastChannel("settings").onmessage = async () => {
  (await source).stop();
  source = load();
};

chrome.runtime.onConnect.addListener(async (port) => {
  if (port.name !== STREAM) return;
  let gone = false;
  port.onDisconnect.addListener(() => (gone = true));
  const ready = await source;
  if (gone) return;
  if (isOff(settings, siteOf(port.sender))) say(port, { kind: "denied" });
  else ready.connect(port);
});
