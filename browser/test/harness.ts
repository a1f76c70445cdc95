// An extension with a small bundle in a real Chromium, raw readings fed into it, and pages served to it.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Chromium, type Message, type Page, pause } from "./chromium";
import { type VectorBundle, bundleOf } from "../../device/test/vectors";

export const ID = "idcaophdnehigcdjchpiaanajokhenck";
export const SENSORS = ["accelerometer", "linear-acceleration", "gyroscope", "gravity", "relative-orientation", "absolute-orientation"];

/** Block for everyone, Allow for the extension, as a person sets it. */
export const SEALED = {
  profile: {
    default_content_setting_values: { sensors: 2 },
    content_settings: { exceptions: { sensors: { [`chrome-extension://${ID}/,*`]: { setting: 1 } } } },
  },
};
const FILES = "out/files";
/** The script for a site, as `deeprotect export` writes it. */
export function embedded({ protector }: VectorBundle = bundleOf("channel ldp")): string {
  return `(() => {\nconst deeprotectBundle = ${protector.replaceAll("</", "<\\/")};\n${read(`${FILES}/embedded/deeprotect.js`)}})();\n`;
}

/** The extension as `deeprotect export` writes it. */
export function exported({ protector }: VectorBundle = bundleOf("channel ldp")): string {
  const folder = mkdtempSync(join(tmpdir(), "deeprotect-extension-"));
  cpSync(`${FILES}/extension`, folder, { recursive: true });
  mkdirSync(join(folder, "bundle"));
  writeFileSync(join(folder, "bundle", "protector.json"), protector);
  return folder;
}

/** Pages by path; a page is its text, or text and headers. */
type Answer = string | { text: string; headers: { [name: string]: string } } | null;
export type Site = (path: string) => Answer | Promise<Answer>;

export async function serve(site: Site): Promise<{ origin: string; port: number; server: Server }> {
  const server = createServer(async (request, response) => {
    const found = await site(new URL(request.url!, "http://localhost").pathname);
    const { text, headers } = typeof found === "string" ? { text: found, headers: {} } : (found ?? { text: "", headers: {} });
    const type = request.url!.endsWith(".js") ? "text/javascript" : "text/html";
    response.writeHead(found === null ? 404 : 200, { "content-type": `${type}; charset=utf-8`, ...headers });
    response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://localhost:${port}`, port, server };
}

/** A browser with the extension in it, whose offscreen document gets the raw readings that are fed. */
export class Device {
  private constructor(readonly browser: Chromium, private readonly folder: string, private readonly extension: Page | null) {}

  /** A browser without the extension. */
  static async bare(more: string[] = []): Promise<Device> {
    return new Device(await Chromium.launch({ arguments: more }), "", null);
  }

  get extensionPages(): Page[] {
    return this.extension ? [this.extension] : [];
  }

  get offscreen(): Page {
    return this.extension!;
  }

  static async start(preferences: Message = SEALED, folder = exported(), more: string[] = []): Promise<Device> {
    const browser = await Chromium.launch({ extension: folder, preferences, arguments: more });
    const { targetId } = await browser.target((info) => info["url"] === `chrome-extension://${ID}/offscreen.html`);
    const device = new Device(browser, folder, await browser.attach(targetId));
    await device.fit(device.offscreen);
    return device;
  }

  /** Virtual sensors must be there before anybody listens. */
  async fit(page: Page): Promise<void> {
    for (const type of SENSORS) await page.send("Emulation.setSensorOverrideEnabled", { enabled: true, type });
  }

  /** One raw reading for the extension, and for pages that were fitted with sensors of their own. */
  async feed(acceleration: number[], rotation = [0, 0, 0], to: Page[] = [this.offscreen]): Promise<void> {
    const xyz = ([x, y, z]: number[]) => ({ xyz: { x, y, z } });
    const readings: [string, Message][] = [
      ["accelerometer", xyz(acceleration)],
      ["linear-acceleration", xyz(acceleration)],
      ["gravity", xyz(acceleration)],
      ["gyroscope", xyz(rotation)],
    ];
    for (const page of to) {
      await Promise.all(readings.map(([type, reading]) => page.send("Emulation.setSensorOverrideReadings", { type, reading })));
    }
  }

  /** Feeds for a while, sample by sample. */
  async play(milliseconds: number, sample: (at: number) => number[], to?: Page[]): Promise<void> {
    for (const start = Date.now(); Date.now() - start < milliseconds; ) {
      await this.feed(sample(Date.now() - start), undefined, to);
      await pause(15);
    }
  }

  /** What the extension keeps under a name. */
  kept<Value>(name: string): Promise<Value | undefined> {
    return this.offscreen.evaluate(`new Promise((done) => { const open = indexedDB.open("deeprotect", 1); open.onsuccess = () => {
      const got = open.result.transaction("kept").objectStore("kept").get("${name}"); got.onsuccess = () => done(got.result); }; })`);
  }

  /** Opens a page until the extension has heard from it what the browser's setting is. */
  async learnSeal(url: string): Promise<void> {
    const page = await this.browser.open(url);
    while (!(await this.kept<{ sites: unknown[] }>("reports"))?.sites.length) await pause(50);
    await this.offscreen.evaluate(`chrome.runtime.sendMessage({ kind: "recheck" }).then(() => 1)`); // and has set its rules
    await page.close();
  }

  /** Feeds until the page says so, however slow the machine; false when it never does. */
  async playUntil(page: Page, condition: string, sample: (at: number) => number[], most = 120_000, to?: Page[]): Promise<boolean> {
    for (const start = Date.now(); Date.now() - start < most; ) {
      if (await page.evaluate<boolean>(`Boolean(${condition})`)) return true;
      await this.play(200, sample, to);
    }
    return false;
  }

  /** What the person does in the popup: JavaScript with `$` for its elements and `changed` for having set one. */
  async choose(origin: string, change: string): Promise<void> {
    const url = `chrome-extension://${ID}/popup.html?site=${encodeURIComponent(origin)}`;
    const { targetId } = await this.browser.send("Target.createTarget", { url, background: true });
    const popup = await this.browser.attach(targetId);
    const shown = `document.getElementById("seal")?.dataset.shown`;
    for (const end = Date.now() + 30_000; Date.now() < end && !(await popup.evaluate(shown)); ) await pause(20);
    await popup.evaluate(`(async () => {
      const $ = (id) => document.getElementById(id);
      const changed = async (id) => {
        delete $("seal").dataset.shown;
        $(id).dispatchEvent(new Event("change"));
        while (!$("seal").dataset.shown) await new Promise((done) => setTimeout(done, 10));
      };
      ${change}
    })()`);
    await popup.close();
  }

  switchSite(origin: string, state: "on" | "off"): Promise<void> {
    return this.choose(origin, `$("on").checked = ${state === "on"}; await changed("on");`);
  }

  async close(): Promise<void> {
    await this.browser.close();
    if (this.folder) rmSync(this.folder, { recursive: true, force: true });
  }
}

export function read(name: string): string {
  return readFileSync(name, "utf8");
}
