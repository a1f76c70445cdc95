// The connection to the content script; the page can read everything that passes through it.
import { PORT_EVENT, type PageRequest, READY_EVENT, type Update } from "../messages";
import { addNative, dispatchNative } from "./natives";

/** Where the shim gets released readings. */
export interface Provider {
  onUpdate(listener: (update: Update) => void): void;
  /** Whether the page listens, by the name of what it listens for. */
  interest(name: string, state: "on" | "off"): void;
  readonly isWanted: boolean;
  permission(): Promise<PermissionState>;
}

export class Link implements Provider {
  private port: MessagePort | null = null;
  private listeners: ((update: Update) => void)[] = [];
  private readonly interests = new Set<string>();
  private readonly waiting = new Map<number, (state: PermissionState) => void>();
  private next = 1;

  constructor() {
    addNative(window, PORT_EVENT, (event) => this.connect((event as MessageEvent).ports[0]));
    dispatchNative(window, new Event(READY_EVENT));
  }

  get isWanted(): boolean {
    return this.interests.size > 0;
  }

  onUpdate(listener: (update: Update) => void): void {
    this.listeners.push(listener);
  }

  interest(name: string, state: "on" | "off"): void {
    const before = this.interests.size > 0;
    if (state === "on") this.interests.add(name);
    else this.interests.delete(name);
    if (before !== this.interests.size > 0) this.request({ kind: "listen", on: !before });
  }

  permission(): Promise<PermissionState> {
    return new Promise((resolve) => {
      const id = this.next++;
      this.waiting.set(id, resolve);
      this.request({ kind: "permission", id });
    });
  }

  private connect(port: MessagePort | undefined): void {
    if (!port) return;
    this.port = port;
    port.onmessage = (event: MessageEvent<Update>) => this.receive(event.data);
    if (this.interests.size) this.request({ kind: "listen", on: true });
    this.waiting.forEach((_, id) => this.request({ kind: "permission", id }));
  }

  private receive(update: Update): void {
    if (update.kind === "permission") {
      this.waiting.get(update.id)?.(update.state);
      this.waiting.delete(update.id);
    } else {
      this.listeners.forEach((listener) => listener(update));
    }
  }

  private request(request: PageRequest): void {
    this.port?.postMessage(request);
  }
}
