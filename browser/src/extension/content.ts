// Runs in every page, in a world of its own: connects the shim to the released stream while the page may have it.
import { decided } from "./delegation";
import { FEATURES } from "./header";
import { RateLimiter } from "./limiter";
import {
  CHANGED,
  type FromWorker,
  PORT_EVENT,
  type PageRequest,
  READY_EVENT,
  STREAM,
  type ToWorker,
  type Update,
} from "./messages";
import { allowedByPage, permitted } from "./policy";

const RECONNECT_MS = 200;

class Relay {
  private shim: MessagePort | null = null;
  private stream: chrome.runtime.Port | null = null;
  private connecting: Promise<void> | null = null;
  private asking: Promise<PermissionState> | null = null;
  private readonly limiter = new RateLimiter();
  private listens = false;
  private showsStatus = false; // whether the page may know
  private refused = false; // by the browser's own switch, after the person had allowed this site individually
  private native: PermissionState = "prompt";

  constructor() {
    window.addEventListener(READY_EVENT, () => this.sendPort());
    this.sendPort();
    this.watchVisibility();
    chrome.runtime.onMessage.addListener((message) => void (message === CHANGED && this.changed()));
    void this.watch();
    void decided.then(() => this.changed());
  }

  /** Again whenever it may be needed: a page that opens its document again removes all listeners. */
  private watchVisibility(): void {
    document.addEventListener("visibilitychange", this.changed);
    window.addEventListener("pageshow", this.changed);
  }

  /** The page can get hold of the other end, too, but all it can do there is listen. */
  private sendPort(): void {
    const { port1, port2 } = new MessageChannel();
    this.shim?.close();
    this.shim = port1;
    port1.onmessage = (event: MessageEvent<PageRequest | null>) => this.answer(event.data);
    window.dispatchEvent(new MessageEvent(PORT_EVENT, { ports: [port2] }));
    void decided.then(() => {
      this.send({ kind: "allowed", features: FEATURES.filter((feature) => allowedByPage(feature)) });
    });
  }

  private answer(request: PageRequest | null): void {
    if (request?.kind === "listen") {
      this.listens = request.on === true; // whatever a page sent
      this.changed();
    } else if (request?.kind === "permission") {
      void this.sendPermission(Number(request.id));
    }
  }

  /** Requests that arrive before there is an answer share it. */
  private async sendPermission(id: number): Promise<void> {
    this.asking ??= this.permission().finally(() => (this.asking = null));
    this.send({ kind: "permission", id, state: await this.asking });
  }

  private async permission(): Promise<PermissionState> {
    await this.limiter.wait();
    const answer = await ask({ kind: "ask" });
    return this.refused || answer?.off ? "denied" : "granted";
  }

  /** Reports the browser's own permission for this page, now and whenever it changes. */
  private async watch(): Promise<void> {
    const status = await navigator.permissions.query({ name: "accelerometer" as PermissionName });
    const report = async (): Promise<void> => {
      this.refused = status.state === "denied" && (this.refused || this.native === "granted");
      this.native = status.state;
      await ask({ kind: "report", state: status.state });
      if (this.refused) this.send({ kind: "denied" });
      this.changed();
    };
    status.addEventListener("change", () => void report());
    await report();
  }

  private get isWanted(): boolean {
    const allowed = allowedByPage("accelerometer") || allowedByPage("gyroscope");
    return this.listens && !this.refused && document.visibilityState === "visible" && allowed;
  }

  private readonly changed = (): void => {
    if (!this.isWanted) this.disconnect();
    else if (!this.stream) this.connecting ??= this.connect().finally(() => (this.connecting = null));
  };

  private async connect(): Promise<void> {
    await this.limiter.wait();
    const requestedAt = Date.now();
    const answer = await ask({ kind: "wake" });
    if (!answer || !this.isWanted) return;
    if (answer.off) return this.send({ kind: "denied" });
    this.showsStatus = answer.tell;
    const stream = chrome.runtime.connect({ name: STREAM + requestedAt });
    this.stream = stream;
    stream.onMessage.addListener((update: Update) => this.pass(update));
    stream.onDisconnect.addListener(() => {
      void chrome.runtime.lastError; // read, so that Chromium logs no error
      this.ended(stream);
    });
  }

  private pass(update: Update): void {
    this.watchVisibility();
    if (document.visibilityState !== "visible") return this.changed();
    if (update.kind === "status" && !this.showsStatus) return;
    this.send(update.kind === "window" ? { ...update, readings: update.readings.map(permitted) } : update);
  }

  /** Closed by the other side: settings changed, or the offscreen document was made anew. */
  private ended(stream: chrome.runtime.Port): void {
    if (this.stream !== stream) return;
    this.stream = null;
    setTimeout(() => this.changed(), RECONNECT_MS);
  }

  private disconnect(): void {
    const stream = this.stream;
    this.stream = null;
    stream?.disconnect();
  }

  private send(update: Update): void {
    this.shim?.postMessage(update);
  }
}

/** Undefined when the extension was removed or updated while this page was open. */
async function ask(message: ToWorker): Promise<FromWorker | undefined> {
  try {
    return await chrome.runtime.sendMessage<ToWorker, FromWorker>(message);
  } catch {
    return undefined;
  }
}

if (window.isSecureContext) new Relay();
