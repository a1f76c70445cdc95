// The way to the content script; all that passes through it is public to the page.
import { type Asked, PORT_EVENT, READY_EVENT, type Said } from "../messages";
import { addNative, dispatchNative } from "./natives";

/** What the shim needs of whoever gives it released readings. */
export interface Giver {
  onSaid(listener: (said: Said) => void): void;
  /** Whether somebody in the page listens, by the name of what it listens for. */
  interest(name: string, state: "on" | "off"): void;
  readonly isAsked: boolean;
  permission(): Promise<PermissionState>;
}

export class Link implements Giver {
  private port: MessagePort | null = null;
  private listeners: ((said: Said) => void)[] = [];
  private readonly interests = new Set<string>();
  private readonly waiting = new Map<number, (state: PermissionState) => void>();
  private next = 1;

  constructor() {
    addNative(window, PORT_EVENT, (event) => this.take((event as MessageEvent).ports[0]));
    dispatchNative(window, new Event(READY_EVENT));
  }

  get isAsked(): boolean {
    return this.interests.size > 0;
  }

  onSaid(listener: (said: Said) => void): void {
    this.listeners.push(listener);
  }

  interest(name: string, state: "on" | "off"): void {
    const before = this.interests.size > 0;
    if (state === "on") this.interests.add(name);
    else this.interests.delete(name);
    if (before !== this.interests.size > 0) this.ask({ kind: "listen", on: !before });
  }

  permission(): Promise<PermissionState> {
    return new Promise((resolve) => {
      const id = this.next++;
      this.waiting.set(id, resolve);
      this.ask({ kind: "permission", id });
    });
  }

  private take(port: MessagePort | undefined): void {
    if (!port) return;
    this.port = port;
    port.onmessage = (event: MessageEvent<Said>) => this.said(event.data);
    if (this.interests.size) this.ask({ kind: "listen", on: true });
    this.waiting.forEach((_, id) => this.ask({ kind: "permission", id }));
  }

  private said(said: Said): void {
    if (said.kind === "permission") {
      this.waiting.get(said.id)?.(said.state);
      this.waiting.delete(said.id);
    } else {
      this.listeners.forEach((listener) => listener(said));
    }
  }

  private ask(asked: Asked): void {
    this.port?.postMessage(asked);
  }
}
