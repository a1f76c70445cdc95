// The natives' rule: whatever built-in a page replaces, the shim shows it none of the browser's own functions that it
// keeps from the page, and registers none of the page's listeners for raw motion.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Page, findChromium } from "./chromium";
import { Device, EVERY, read, serve } from "./harness";

const skip = findChromium() ? false : "Chromium is missing: install chromium";
const RELEASED = `({ kind: "window", slot: Math.floor(Date.now() / 200), through: Math.floor(Date.now() / 200),
  slotMs: 200, readings: [1, 2].map((x) => ({ acceleration: [x, 0, 0], accelerationIncludingGravity: [x, 0, 9.8],
  gravity: [0, 0, 9.8], rotationRate: [0, 0, 0], orientation: [0, x, 0] })) })`;
/** A shim that looks a function up when it is called. */
const FAULTY = `const { addEventListener: native } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function (...args) { return native.apply(this, args); };`;
/** The page plays the content script: it gives the shim a port, and released windows through it. */
const CONNECT = `const { port1: toShim, port2 } = new MessageChannel();
  dispatchEvent(new MessageEvent("deeprotect-port", { ports: [port2] }));
  const answered = () => new Promise((done) => setTimeout(done, 3));`;

let device: Device;
let site: Awaited<ReturnType<typeof serve>>;

before(async () => {
  if (skip) return;
  site = await serve((path) => {
    if (path === "/shim.js") return read("out/files/extension/shim.js");
    if (path === "/natives.js") return read("test/pages/natives.js");
    if (path === "/faulty.js") return FAULTY;
    const script = path === "/faulty" ? "/faulty.js" : "/shim.js";
    return `<!doctype html><body><script src="/natives.js"></script><script src="${script}"></script>`;
  });
  device = await Device.bare(); // here the browser itself gives raw motion
});
after(async () => {
  if (skip) return;
  await device.close();
  site.server.closeAllConnections();
  site.server.close();
});

interface Poisoned {
  readonly tried: number;
  readonly hidden: number;
  readonly shown: readonly string[];
}

async function opened(path = "/"): Promise<Page> {
  const page = await device.browser.open(site.origin + path, (made) => device.fit(made));
  await page.send("Page.bringToFront");
  return page;
}

/** The types under which the browser itself has listeners of the page's window. */
async function registered(page: Page): Promise<string[]> {
  const { result } = await page.send("Runtime.evaluate", { expression: "window" });
  const { listeners } = await page.send("DOMDebugger.getEventListeners", { objectId: result.objectId });
  return listeners.map(({ type }: { type: string }) => type);
}

const raw = (types: string[]) => types.filter((type) => /^device(motion|orient)/.test(type));

test(
  "every built-in, replaced by one that looks: none is shown a native function",
  { skip, timeout: 300_000 },
  async () => {
    const page = await opened();
    const { tried, hidden, shown } = await page.evaluate<Poisoned>(
      EVERY ? "poison(use)" : "poison(use, { only: isNear })",
    );
    console.log(`${tried} built-ins, ${hidden} functions kept from pages`);
    assert.ok(tried > 1500 && hidden > 30);
    assert.deepEqual(shown, []);
    assert.deepEqual(raw(await registered(page)), []);
    await page.close();
  },
);

test(
  "every built-in, replaced by one that throws: no listener is for raw motion",
  { skip, timeout: 300_000 },
  async () => {
    const page = await opened();
    const { shown } = await page.evaluate<Poisoned>("poison(use, { throws: true, only: isNear })");
    assert.deepEqual(shown, []);
    assert.deepEqual(raw(await registered(page)), []);
    await page.close();
  },
);

test(
  "every built-in of the language, replaced while released motion is played",
  { skip, timeout: 300_000 },
  async () => {
    const page = await opened();
    const { tried, shown } = await page.evaluate<Poisoned>(`(async () => { ${CONNECT}
    window.read = 0;
    addEventListener("devicemotion", () => read++);
    const sensor = new Accelerometer();
    sensor.start();
    const available = { acceleration: true, rotationRate: true, orientation: true };
    const deliver = () => { toShim.postMessage({ kind: "active", available }); toShim.postMessage(${RELEASED}); };
    return poison(deliver, { only: isLanguage, settle: answered });
  })()`);
    assert.ok(tried > 300, `${tried} were tried`);
    assert.ok((await page.evaluate<number>("read")) > 10, "released motion was played");
    assert.deepEqual(shown, []);
    await page.close();
  },
);

test("a shim that looks a native function up in an object would be found", { skip, timeout: 120_000 }, async () => {
  const page = await opened("/faulty");
  const { shown } = await page.evaluate<Poisoned>(`poison(use, { only: (path) => /Function/.test(path) })`);
  assert.ok(shown.length, "Function.prototype.apply is given the native function");
  await page.close();
});
