// In every page, in a world of its own: connects the shim to the released stream while the page may have it.
import { decided } from "./delegation";
import { FEATURES } from "./header";
import { type Asked, CHANGED, type FromWorker, PORT_EVENT, READY_EVENT, STREAM, type Said, type ToWorker } from "./messages";
import { Pace } from "./pace";
import { allowedByPage, permitted } from "./policy";

class Relay {
  private shim: MessagePort | null = null;
  private stream: chrome.runtime.Port | null = null;
  private connecting: Promise<void> | null = null;
  private asking: Promise<PermissionState> | null = null;
  private readonly pace = new Pace();
  private listens = false;
  private tells = false; // whether the page may know
  private refused = false; // with the browser's own switch, after the person had allowed this site apart
  private native: PermissionState = "prompt";

  constructor() {
    window.addEventListener(READY_EVENT, () => this.handOver());
    this.handOver();
    document.addEventListener("visibilitychange", () => this.changed());
    window.addEventListener("pageshow", () => this.changed());
    chrome.runtime.onMessage.addListener((message) => void (message === CHANGED && this.changed()));
    void this.watch();
    void decided.then(() => this.changed());
  }

  /** The page may hold the other end, too: all that it can do there is to listen. */
  private handOver(): void {
    const { port1, port2 } = new MessageChannel();
    this.shim?.close();
    this.shim = port1;
    port1.onmessage = (event: MessageEvent<Asked>) => this.asked(event.data);
    window.dispatchEvent(new MessageEvent(PORT_EVENT, { ports: [port2] }));
    void decided.then(() => this.say({ kind: "allowed", features: FEATURES.filter((feature) => allowedByPage(feature)) }));
  }

  private asked(asked: Asked): void {
    if (asked?.kind === "listen") {
      this.listens = asked.on === true;
      this.changed();
    } else if (asked?.kind === "permission") {
      void this.tellPermission(Number(asked.id));
    }
  }

  /** Whoever asks while there is no answer yet gets the same one. */
  private async tellPermission(id: number): Promise<void> {
    this.asking ??= this.permission().finally(() => (this.asking = null));
    this.say({ kind: "permission", id, state: await this.asking });
  }

  private async permission(): Promise<PermissionState> {
    await this.pace.turn();
    const answer = await send({ kind: "ask" });
    return this.refused || answer?.off ? "denied" : "granted";
  }

  /** What the browser itself says to this page, again whenever it changes. */
  private async watch(): Promise<void> {
    const status = await navigator.permissions.query({ name: "accelerometer" as PermissionName });
    const report = async () => {
      this.refused = status.state === "denied" && (this.refused || this.native === "granted");
      this.native = status.state;
      await send({ kind: "report", state: status.state });
      if (this.refused) this.say({ kind: "denied" });
      this.changed();
    };
    status.addEventListener("change", () => void report());
    await report();
  }

  private get wanted(): boolean {
    const allowed = allowedByPage("accelerometer") || allowedByPage("gyroscope");
    return this.listens && !this.refused && document.visibilityState === "visible" && allowed;
  }

  private changed(): void {
    if (!this.wanted) this.disconnect();
    else if (!this.stream) this.connecting ??= this.connect().finally(() => (this.connecting = null));
  }

  private async connect(): Promise<void> {
    await this.pace.turn();
    const asked = Date.now();
    const answer = await send({ kind: "wake" });
    if (!answer || !this.wanted) return;
    if (answer.off) return this.say({ kind: "denied" });
    this.tells = answer.tell;
    const stream = chrome.runtime.connect({ name: STREAM + asked });
    this.stream = stream;
    stream.onMessage.addListener((said: Said) => this.said(said));
    stream.onDisconnect.addListener(() => {
      void chrome.runtime.lastError; // looked at, so that nothing is said in the console
      this.ended(stream);
    });
  }

  private said(said: Said): void {
    if (document.visibilityState !== "visible" || (said.kind === "status" && !this.tells)) return;
    this.say(said.kind === "window" ? { ...said, readings: said.readings.map(permitted) } : said);
  }

  /** By the other side: settings changed, or the document was made anew. */
  private ended(stream: chrome.runtime.Port): void {
    if (this.stream !== stream) return;
    this.stream = null;
    setTimeout(() => this.changed(), 200);
  }

  private disconnect(): void {
    const stream = this.stream;
    this.stream = null;
    stream?.disconnect();
  }

  private say(said: Said): void {
    this.shim?.postMessage(said);
  }
}

/** Undefined when the extension was removed or updated below this page. */
async function send(message: ToWorker): Promise<FromWorker | undefined> {
  try {
    return await chrome.runtime.sendMessage<ToWorker, FromWorker>(message);
  } catch {
    return undefined;
  }
}

if (window.isSecureContext) new Relay();
