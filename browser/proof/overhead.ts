// What the protector costs in a browser: the same page with a 50 Hz stream, with and without the extension, at once.
// node overhead.mjs EXTENSION_FOLDER SECONDS; prints JSON.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { Bundle, type Exported, Ledger, Pipe, Slots } from "deeprotect";
import { type Page, pause } from "../test/chromium";
import { Device, SEALED, serve } from "../test/harness";

const [, , folder, seconds] = process.argv as [string, string, string, string];
const TICKS_PER_SECOND = 100;
const LOADS = 15;
const WARM_MS = 12_000; // until the first window was released and plays

/** CPU seconds and megabytes of a process and its descendants. */
function usage(root: number): { cpu: number; memory: number } {
  const stats = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /s, "").split(" ");
        return [
          {
            pid: Number(pid),
            parent: Number(fields[1]),
            cpu: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
          },
        ];
      } catch {
        return []; // it has just ended
      }
    });
  const ours = new Set([root]);
  for (let before = 0; before < ours.size;) {
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

/** Milliseconds to load and check the bundle, and to release one window. */
async function alone(): Promise<{ start: number; window: number }> {
  const starts: number[] = [];
  for (let at = 0; at < LOADS; at += 1) {
    const before = performance.now();
    const bundle = load();
    new Slots(bundle, memory(), choices(bundle));
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
const choices = (bundle: Bundle) =>
  ({ hold: bundle.policy.hold, uncovered: "rest", whenSpent: "placeholder" }) as const;

const page = `<!doctype html><script>window.n = 0; addEventListener("devicemotion", () => n++);
  const sensor = new Accelerometer({ frequency: 60 }); sensor.onreading = () => {}; sensor.start();</script>`;
const site = await serve(() => page);

interface Cost {
  cpu: number;
  memory: number;
  events: number;
}

/** CPU seconds per second and megabytes of both browsers, with this many visible windows that read motion. */
async function compared(windows: number): Promise<{ off: Cost; on: Cost }> {
  const browsers = [await Device.bare(), await Device.start(SEALED, folder)] as const;
  const [off, on] = browsers;
  for (const each of browsers) await each.fitAll("page");
  const tabs = await Promise.all(browsers.map((each) => opened(each, windows)));
  let running = true;
  const feeding = (async () => {
    for (let at = 0; running; at += 1) {
      const reading = [
        [3 * Math.sin(at / 8), 1, 9.8],
        [0.1, Math.sin(at / 9), 0],
      ] as const;
      // Both have the same number of documents to feed, so that feeding costs the same.
      for (const each of browsers) void each.feed([...reading[0]], [...reading[1]], [...each.fitted].slice(-windows));
      await pause(20);
    }
  })();
  await pause(WARM_MS);
  const before = browsers.map((each) => usage(each.browser.pid));
  const first = await events(tabs);
  await pause(Number(seconds) * 1000);
  const after = browsers.map((each) => usage(each.browser.pid));
  const counts = await events(tabs);
  running = false;
  await feeding;
  await on.browser.close();
  await off.close();
  const [without, protectedOnes] = browsers.map((_, at) => ({
    cpu: (after[at]!.cpu - before[at]!.cpu) / Number(seconds),
    memory: after[at]!.memory,
    events: (counts[at]! - first[at]!) / Number(seconds),
  }));
  return { off: without!, on: protectedOnes! };
}

async function opened(device: Device, windows: number): Promise<Page[]> {
  const tabs: Page[] = [];
  for (let at = 0; at < windows; at += 1) {
    const { targetId } = await device.browser.send("Target.createTarget", { url: site.origin, newWindow: true });
    tabs.push(await device.browser.attach(targetId));
  }
  return tabs;
}

/** The mean over the windows of each browser. */
function events(tabs: Page[][]): Promise<number[]> {
  return Promise.all(
    tabs.map(async (each) => sum(await Promise.all(each.map((tab) => tab.evaluate<number>("n")))) / each.length),
  );
}

const one = await compared(1);
const five = await compared(5);
site.server.closeAllConnections();
site.server.close();
const scripts = readdirSync(folder)
  .filter((name) => name.endsWith(".js"))
  .map((name) => `${folder}/${name}`);
console.log(
  JSON.stringify({
    ...one,
    five,
    alone: await alone(),
    kilobytes: sum(scripts.map((name) => gzipSync(readFileSync(name)).length)) / 1000,
    bundle_kilobytes: statSync(`${folder}/bundle/protector.json`).size / 1000,
  }),
);
