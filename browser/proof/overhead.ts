// What the protector costs in a browser: the same page with a 50 Hz stream, with and without the extension, at once.
// node overhead.mjs EXTENSION_FOLDER SECONDS; prints JSON.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { Bundle, Channels, type Exported, Ledger, Pipe, Session } from "deeprotect";
import { pause } from "../test/chromium";
import { Device, SEALED, serve } from "../test/harness";

const [, , folder, seconds] = process.argv as [string, string, string, string];
const TICKS_PER_SECOND = 100;
const LOADS = 15;

/** Processor seconds and megabytes of a process and all that it started. */
function usage(root: number): { cpu: number; memory: number } {
  const stats = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /s, "").split(" ");
      return [{ pid: Number(pid), parent: Number(fields[1]), cpu: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND }];
    } catch {
      return []; // it has just ended
    }
  });
  const ours = new Set([root]);
  for (let before = 0; before < ours.size; ) {
    before = ours.size;
    for (const { pid, parent } of stats) if (ours.has(parent)) ours.add(pid);
  }
  const found = stats.filter(({ pid }) => ours.has(pid));
  return { cpu: sum(found.map(({ cpu }) => cpu)), memory: sum(found.map(({ pid }) => megabytes(pid))) };
}

function megabytes(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))![1]) / 1024;
  } catch {
    return 0;
  }
}

function sum(values: number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function load(): Bundle {
  return new Bundle(JSON.parse(readFileSync(`${folder}/bundle/protector.json`, "utf8")) as Exported);
}

/** Milliseconds to load the bundle, every check included, and to release one window. */
async function alone(): Promise<{ start: number; window: number }> {
  const starts: number[] = [];
  for (let at = 0; at < LOADS; at += 1) {
    const before = performance.now();
    const bundle = load();
    new Session(bundle, new Channels(bundle.places), memory(), choices(bundle));
    starts.push(performance.now() - before);
  }
  const bundle = load();
  const pipe = new Pipe(bundle, memory(), { windows: 1, listen: 1 }, "nothing");
  const windows: number[] = [];
  for (let slot = 0; slot < 200; slot += 1) {
    const window = Float64Array.from({ length: bundle.policy.schema.dim }, () => Math.random());
    const before = performance.now();
    await pipe.push(slot, window, Date.now());
    windows.push(performance.now() - before);
  }
  return { start: median(starts), window: median(windows.slice(50)) };
}

const memory = () => new Ledger({ load: async () => undefined, save: async () => {} });
const choices = (bundle: Bundle) => ({ hold: bundle.policy.hold, uncovered: "rest", whenSpent: "placeholder" }) as const;

const page = `<!doctype html><script>window.n = 0; window.late = []; addEventListener("devicemotion", () => n++);
  const sensor = new Accelerometer({ frequency: 60 }); sensor.onreading = () => late.push(performance.now() - sensor.timestamp); sensor.start();</script>`;
const site = await serve(() => page);
const off = await Device.bare();
const on = await Device.start(SEALED, folder);
const tabs = [await off.browser.open(site.origin, (tab) => off.fit(tab)), await on.browser.open(site.origin)] as const;
for (const tab of tabs) await tab.send("Page.bringToFront");
const targets = [tabs[0], on.offscreen];
let running = true;
const feeding = (async () => {
  for (let at = 0; running; at += 1) {
    void on.feed([3 * Math.sin(at / 8), 1, 9.8], [0.1, Math.sin(at / 9), 0], targets);
    await pause(20);
  }
})();
await pause(5000);
const before = [usage(off.browser.pid), usage(on.browser.pid)] as const;
await pause(Number(seconds) * 1000);
const after = [usage(off.browser.pid), usage(on.browser.pid)] as const;
running = false;
await feeding;
const events = await Promise.all(tabs.map((tab) => tab.evaluate<number>("n")));
const late = await Promise.all(tabs.map(async (tab) => median(await tab.evaluate<number[]>("late"))));
await on.browser.close();
await off.close();
site.server.closeAllConnections();
site.server.close();
const scripts = readdirSync(folder).filter((name) => name.endsWith(".js")).map((name) => `${folder}/${name}`);
console.log(
  JSON.stringify({
    off: { cpu: (after[0].cpu - before[0].cpu) / Number(seconds), memory: after[0].memory, events: events[0], late: late[0] },
    on: { cpu: (after[1].cpu - before[1].cpu) / Number(seconds), memory: after[1].memory, events: events[1], late: late[1] },
    alone: await alone(),
    kilobytes: sum(scripts.map((name) => gzipSync(readFileSync(name)).length)) / 1000,
    bundle_kilobytes: statSync(`${folder}/bundle/protector.json`).size / 1000,
  }),
);
