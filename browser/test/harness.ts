// An extension with a small bundle in a real Chromium, raw readings fed into it, and pages served to it.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Chromium, type Message, type Page, pause } from "./chromium";
import { type VectorBundle, bundleOf } from "../../device/test/vectors";

export const ID = "idcaophdnehigcdjchpiaanajokhenck";
export const SENSORS = [
  "accelerometer",
  "linear-acceleration",
  "gyroscope",
  "gravity",
  "relative-orientation",
  "absolute-orientation",
];

/** Block for everyone, Allow for the extension, as a person sets it. */
export const SEALED = {
  profile: {
    default_content_setting_values: { sensors: 2 },
    content_settings: { exceptions: { sensors: { [`chrome-extension://${ID}/,*`]: { setting: 1 } } } },
  },
};
const FILES = "out/files";
/** `npm run tables` tries everything; the test command leaves out what takes many minutes. */
export const EVERY = process.env.EVERY_PAGE === "1";

/** The script for a site, as `deeprotect export` writes it. */
export function embedded({ protector }: VectorBundle = bundleOf("channel ldp")): string {
  const bundle = `const deeprotectBundle = ${protector.replaceAll("</", "<\\/")};`;
  return `(() => {\n${bundle}\n${read(`${FILES}/embedded/deeprotect.js`)}})();\n`;
}

/** The extension as `deeprotect export` writes it. */
export function exported({ protector }: VectorBundle = bundleOf("channel ldp")): string {
  const folder = mkdtempSync(join(tmpdir(), "deeprotect-extension-"));
  cpSync(`${FILES}/extension`, folder, { recursive: true });
  mkdirSync(join(folder, "bundle"));
  writeFileSync(join(folder, "bundle", "protector.json"), protector);
  return folder;
}

/** Pages by path; a page is its text, or text, headers and status. */
type Answer = string | { text: string; headers: { [name: string]: string | string[] }; status?: number } | null;
export type Site = (path: string) => Answer | Promise<Answer>;

export async function serve(site: Site): Promise<{ origin: string; port: number; server: Server }> {
  const answer = async (url: string, response: ServerResponse): Promise<void> => {
    const found = (await site(new URL(url, "http://localhost").pathname)) ?? { text: "", headers: {}, status: 404 };
    const { text, headers, status = 200 } = typeof found === "string" ? { text: found, headers: {} } : found;
    const type = url.endsWith(".js") ? "text/javascript" : "text/html";
    response.writeHead(status, { "content-type": `${type}; charset=utf-8`, ...headers });
    response.end(text);
  };
  const server = createServer((request, response) => void answer(request.url!, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://localhost:${port}`, port, server };
}

/** A browser with the extension in it, whose offscreen document gets the raw readings that are fed. */
export class Device {
  /** Targets with virtual sensors: the offscreen document while it exists, and pages given to `fit`. */
  readonly fitted = new Set<Page>();
  /** Sensors that the device lacks at the moment. */
  readonly absent = new Set<string>();
  private ownPage: Page | null = null;

  private constructor(
    readonly browser: Chromium,
    private readonly folder: string,
  ) {
    browser.on("Target.detachedFromTarget", ({ sessionId }) => {
      for (const page of this.fitted) if (page.session === sessionId) this.fitted.delete(page);
    });
  }

  /** A browser without the extension. */
  static async bare(more: string[] = []): Promise<Device> {
    return new Device(await Chromium.launch({ arguments: more }), "");
  }

  static async start(preferences: Message = SEALED, folder = exported(), more: string[] = []): Promise<Device> {
    const device = new Device(await Chromium.launch({ extension: folder, preferences, arguments: more }), folder);
    await device.fitAll("other"); // so a document of the extension is called before it has an address
    await device.browser.target((info) => info.url === `chrome-extension://${ID}/worker.js`);
    // It may have looked for sensors before there were any; this repeats it, as another start would.
    while (await device.reads()) await pause(50);
    await device.ask(`chrome.runtime.sendMessage({ kind: "wake" })`);
    return device;
  }

  /** Gives sensors to each new target of a type. */
  fitAll(type: "other" | "page"): Promise<void> {
    return this.browser.prepare(type, async (page) => {
      await this.fit(page);
      await this.feed([0.1, 0.2, 9.8], undefined, [page]); // a device always has a reading
    });
  }

  /** Whether the extension reads sensors at the moment. */
  async reads(): Promise<boolean> {
    const { targetInfos } = await this.browser.send("Target.getTargets", { filter: [{}] });
    return targetInfos.some((info: Message) => info.url === `chrome-extension://${ID}/offscreen.html`);
  }

  /** Adds virtual sensors, which must exist before a page listens. */
  async fit(page: Page): Promise<void> {
    for (const type of SENSORS) {
      await page.send("Emulation.setSensorOverrideEnabled", {
        enabled: true,
        type,
        metadata: { available: !this.absent.has(type) },
      });
    }
    this.fitted.add(page);
  }

  /** Feeds one raw reading to all targets with sensors. */
  async feed(acceleration: number[], rotation = [0, 0, 0], to: Iterable<Page> = this.fitted): Promise<void> {
    const xyz = ([x, y, z]: number[]) => ({ xyz: { x, y, z } });
    const readings: [string, Message][] = [
      ["accelerometer", xyz(acceleration)],
      ["linear-acceleration", xyz(acceleration)],
      ["gravity", xyz(acceleration)],
      ["gyroscope", xyz(rotation)],
    ];
    await Promise.all([...to].map((page) => this.sense(page, readings)));
  }

  async sense(page: Page, readings: [type: string, reading: Message][]): Promise<void> {
    const sent = readings.map(([type, reading]) => page.send("Emulation.setSensorOverrideReadings", { type, reading }));
    await Promise.allSettled(sent); // it may just have been closed
  }

  /** Feeds for a while, sample by sample. */
  async play(milliseconds: number, sample: (at: number) => number[]): Promise<void> {
    for (const start = Date.now(); Date.now() - start < milliseconds;) {
      await this.feed(sample(Date.now() - start));
      await pause(15);
    }
  }

  /** Evaluates in a page of the extension that runs no script. */
  async ask<Value>(expression: string): Promise<Value> {
    this.ownPage ??= await this.background(`chrome-extension://${ID}/style.css`);
    return this.ownPage.evaluate<Value>(expression);
  }

  private async background(url: string): Promise<Page> {
    const { targetId } = await this.browser.send("Target.createTarget", { url, background: true });
    const page = await this.browser.attach(targetId);
    while ((await page.evaluate("location.href + document.readyState")) !== `${url}complete`) await pause(20);
    return page;
  }

  /** A value from the extension's storage. */
  kept<Value>(name: string): Promise<Value | undefined> {
    return this.ask(`new Promise((done) => { 
        const open = indexedDB.open("deeprotect", 1);
        open.onupgradeneeded = () => open.result.createObjectStore("kept");
        open.onsuccess = () => {
          const got = open.result.transaction("kept").objectStore("kept").get("${name}");
          got.onsuccess = () => { open.result.close(); done(got.result); };
        }; })`);
  }

  /** Opens a page, which reports the browser's setting to the extension; it stays open, so that the report holds. */
  async learnSeal(url: string): Promise<Page> {
    const page = await this.background(url);
    const { origin } = new URL(url);
    while (!(await this.kept<{ sites: string[][] }>("reports"))?.sites.some(([site]) => site === origin))
      await pause(50);
    await this.recheck(); // and has set its rules
    return page;
  }

  recheck(): Promise<{ reports: { own: string; sites: [string, string][] } }> {
    return this.ask(`chrome.runtime.sendMessage({ kind: "recheck" })`);
  }

  /** Feeds until a condition holds in the page, however slow the machine; false if it never does. */
  async playUntil(page: Page, condition: string, sample: (at: number) => number[], most = 120_000): Promise<boolean> {
    for (const start = Date.now(); Date.now() - start < most;) {
      if (await page.evaluate<boolean>(`Boolean(${condition})`)) return true;
      await this.play(200, sample);
    }
    return false;
  }

  /** Changes settings in the popup: JavaScript with `$` for an element, and `changed` after one is set. */
  async choose(origin: string, change: string): Promise<void> {
    const url = `chrome-extension://${ID}/popup.html?site=${encodeURIComponent(origin)}`;
    const popup = await this.background(url);
    const shown = `document.getElementById("seal")?.dataset.shown`;
    for (const end = Date.now() + 30_000; Date.now() < end && !(await popup.evaluate(shown));) await pause(20);
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

const PAGE = "../docs/browser.md";

/** Writes a table into out/tables, and for `npm run tables` also into docs/browser.md, between its two marks. */
export function table(name: string, lines: readonly string[]): void {
  const text = lines.join("\n") + "\n";
  mkdirSync("out/tables", { recursive: true });
  writeFileSync(`out/tables/${name}.md`, text);
  if (!EVERY) return;
  const [before, rest] = read(PAGE).split(`<!-- table: ${name} -->\n`) as [string, string];
  const after = rest.slice(rest.indexOf("<!-- end of table -->"));
  writeFileSync(PAGE, `${before}<!-- table: ${name} -->\n\n${text}\n${after}`);
}
