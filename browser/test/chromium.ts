// A headless Chromium over the DevTools protocol's pipe: no driver is needed, only the browser.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

export interface Message {
  [name: string]: any;
}
interface Waiter {
  session: string | undefined;
  resolve: (result: Message) => void;
  reject: (error: Error) => void;
}
type Listener = (params: Message, session: string | undefined) => unknown;

const ARGUMENTS = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--remote-debugging-pipe",
  "--enable-unsafe-extension-debugging",
];

export function findChromium(): string | null {
  const named = process.env.CHROMIUM;
  const places = [
    ...(named ? [named] : []),
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
  ];
  return places.find(existsSync) ?? null;
}

export interface Launch {
  extension?: string;
  /** The profile's preferences, in Chromium's format. */
  preferences?: Message;
  arguments?: string[];
}

export class Chromium {
  private next = 1;
  private readonly waiting = new Map<number, Waiter>();
  private readonly listeners = new Map<string, Set<Listener>>();
  private readonly prepared: string[] = [];
  private rest: Buffer[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly profile: string,
  ) {
    (child.stdio[4] as Readable).on("data", (chunk: Buffer) => this.receive(chunk));
    child.on("exit", () => this.waiting.forEach(({ reject }) => reject(new Error("Chromium ended"))));
  }

  static async launch({ extension, preferences = {}, arguments: more = [] }: Launch = {}): Promise<Chromium> {
    const profile = mkdtempSync(join(tmpdir(), "deeprotect-chromium-"));
    mkdirSync(join(profile, "Default"));
    writeFileSync(join(profile, "Default", "Preferences"), JSON.stringify(preferences));
    const loaded = extension ? [`--load-extension=${extension}`, `--disable-extensions-except=${extension}`] : [];
    const given = [...ARGUMENTS, `--user-data-dir=${profile}`, ...loaded, ...more, "about:blank"];
    const child = spawn(findChromium()!, given, {
      stdio: ["ignore", "ignore", process.env.DEBUG ? "inherit" : "ignore", "pipe", "pipe"],
    });
    const browser = new Chromium(child, profile);
    await browser.send("Target.setDiscoverTargets", { discover: true });
    return browser;
  }

  get pid(): number {
    return this.child.pid!;
  }

  send(method: string, params: Message = {}, sessionId?: string): Promise<Message> {
    const id = this.next++;
    const text = JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) });
    (this.child.stdio[3] as Writable).write(text + "\0");
    return new Promise((resolve, reject) => this.waiting.set(id, { session: sessionId, resolve, reject }));
  }

  on(event: string, listener: Listener): () => void {
    if (!this.listeners.has(event)) this.listeners.set(event, new Set());
    this.listeners.get(event)!.add(listener);
    return () => this.listeners.get(event)!.delete(listener);
  }

  /** Waits for the first target that fits. */
  async target(fits: (info: Message) => boolean, milliseconds = 60_000): Promise<Message> {
    for (const end = Date.now() + milliseconds; Date.now() < end;) {
      const { targetInfos } = await this.send("Target.getTargets", { filter: [{}] });
      const found = targetInfos.find(fits);
      if (found) return found;
      await pause(50);
    }
    throw new Error("no such target");
  }

  /** Prepares each new target of a type before it runs. */
  async prepare(type: string, before: (page: Page) => Promise<void>): Promise<void> {
    this.on("Target.attachedToTarget", async ({ sessionId, targetInfo }) => {
      if (targetInfo.type !== type) return;
      const page = new Page(this, sessionId, targetInfo.targetId);
      await before(page).catch(() => {}); // it may have been closed
      await page.send("Runtime.runIfWaitingForDebugger").catch(() => {});
    });
    this.prepared.push(type);
    const filter = [...this.prepared.map((each) => ({ type: each })), { exclude: true }];
    await this.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter });
  }

  async attach(targetId: string): Promise<Page> {
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    return new Page(this, sessionId, targetId);
  }

  /** Opens an address in a new tab once `before` has prepared it. */
  async open(address: string, before: (page: Page) => Promise<void> = async () => {}): Promise<Page> {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const page = await this.attach(targetId);
    await before(page);
    await page.go(address);
    return page;
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.send("Browser.close").catch(() => {});
    const late = setTimeout(() => this.child.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(late);
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }

  private receive(chunk: Buffer): void {
    this.rest.push(chunk);
    if (!chunk.includes(0)) return;
    const texts = Buffer.concat(this.rest).toString("utf8").split("\0");
    this.rest = [Buffer.from(texts.pop()!)];
    for (const text of texts) this.handle(JSON.parse(text) as Message);
  }

  private handle(message: Message): void {
    if (message.id === undefined) {
      if (message.method === "Target.detachedFromTarget") this.detached(message.params.sessionId);
      this.listeners.get(message.method)?.forEach((listener) => listener(message.params, message.sessionId));
      return;
    }
    const waiter = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) waiter?.reject(new Error(`${message.error.message} ${message.error.data ?? ""}`));
    else waiter?.resolve(message.result);
  }

  /** What was sent to a target that has closed meanwhile is never answered. */
  private detached(session: string): void {
    for (const [id, waiter] of this.waiting) {
      if (waiter.session !== session) continue;
      this.waiting.delete(id);
      waiter.reject(new Error("the target has closed"));
    }
  }
}

/** One page, frame or worker that the driver is attached to. */
export class Page {
  constructor(
    readonly browser: Chromium,
    readonly session: string,
    readonly target: string,
  ) {}

  send(method: string, params: Message = {}): Promise<Message> {
    return this.browser.send(method, params, this.session);
  }

  async go(url: string): Promise<void> {
    await this.send("Page.enable");
    const loaded = new Promise<void>((resolve) => {
      const off = this.browser.on("Page.loadEventFired", (_, session) => {
        if (session !== this.session) return;
        off();
        resolve();
      });
    });
    await this.send("Page.navigate", { url });
    await Promise.race([loaded, pause(30_000)]);
  }

  /** Awaits the value of an expression; throws the page's error. */
  async evaluate<T>(expression: string): Promise<T> {
    const options = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", options);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as T;
  }

  close(): Promise<Message> {
    return this.browser.send("Target.closeTarget", { targetId: this.target });
  }
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
