// The extension in a real Chromium: what pages get, what they never get, and what the person can choose.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Page, findChromium, pause } from "./chromium";
import type { Status } from "deeprotect";
import { Device, ID, SEALED, read, serve } from "./harness";

const skip = findChromium() ? false : "Chromium is missing: install chromium";
const LISTENING = skip ? "" : read("test/pages/listening.js");
const PAGES: { [path: string]: string } = {
  "/": `<!doctype html><title>listening</title><script>${LISTENING}</script>`,
  "/marked": `<!doctype html><script>window.states = [];
    addEventListener("deeprotectstatus", () => states.push(navigator.deeprotect));${LISTENING}</script>`,
  "/silent": "<!doctype html><title>silent</title><p>",
};

let device: Device;
let site: Awaited<ReturnType<typeof serve>>;
let page: Page;

before(async () => {
  if (skip) return;
  site = await serve((path) => PAGES[path] ?? null);
  device = await Device.start(SEALED);
  await device.learnSeal(`${site.origin}/silent`);
});

after(async () => {
  if (skip) return;
  await device.close();
  site.server.closeAllConnections();
  site.server.close();
});

async function listening(path = "/", origin = site.origin): Promise<Page> {
  page = await device.browser.open(origin + path);
  await page.send("Page.bringToFront");
  return page;
}

const still = () => [0.5, 1, 9.8];
interface Motion {
  t: number;
  a: number[] | null;
  g: number[] | null;
  r: number[] | null;
  i: number;
}

test(
  "a page gets motion at the bundle's rate, in the platform's unit and rounding, the streams consistent",
  { skip },
  async () => {
    await listening();
    await page.evaluate(
      `sense("Accelerometer", { frequency: 10 });
      for (const name of ["LinearAccelerationSensor", "GravitySensor", "Gyroscope"]) sense(name);`,
    );
    await device.playUntil(page, "motion.length > 150 && sensing.Accelerometer.seen.length > 20", (at) => [
      3 * Math.sin(at / 200),
      1,
      9.8,
    ]);
    const names = `["Accelerometer", "LinearAccelerationSensor", "GravitySensor"]`;
    const both = `({ motion: motion.slice(-150), seen: ${names}.map((name) => sensing[name].seen.slice(-100)) })`;
    const { motion, seen } = await page.evaluate<{ motion: Motion[]; seen: number[][][] }>(both); // of one moment
    const [slow, linear, gravity] = seen;
    const rate = (1000 * (motion.length - 1)) / (motion.at(-1)!.t - motion[0]!.t);
    assert.ok(rate < 22, `${rate} events per second of a bundle at 20 Hz`);
    for (const { a, g, r, i } of motion) {
      assert.equal(i, 50);
      for (const value of [...a!, ...g!, ...r!])
        assert.ok(Math.abs(value - Math.round(value / 0.1) * 0.1) <= Number.EPSILON);
      assert.deepEqual(r, [0, 0, 0], "what the policy does not cover rests");
    }
    const gap = (slow!.at(-1)![3]! - slow![0]![3]!) / (slow!.length - 1);
    assert.ok(gap > 85, `a reading every ${gap} ms at 10 Hz`);
    const at = new Map(gravity!.map((each) => [each[3], each]));
    const pairs = linear!.filter((each) => at.has(each[3])).slice(-20);
    assert.ok(pairs.length > 0);
    const all = new Map(motion.map(({ g }) => [g!.map((value) => Math.round(value * 10)).join(), true]));
    const sums = pairs.map((each) => [0, 1, 2].map((axis) => Math.round((each[axis]! + at.get(each[3])![axis]!) * 10)));
    const near = sums.filter((sum) =>
      [...all.keys()].some((key) => key.split(",").every((value, axis) => Math.abs(Number(value) - sum[axis]!) <= 1)),
    );
    assert.equal(near.length, sums.length, "linear acceleration and gravity add up to what devicemotion gives");
    await page.close();
  },
);

test("a sensor says when it is active, and forgets when it stops", { skip }, async () => {
  await listening("/silent");
  await page.evaluate(`${LISTENING}; sense("Accelerometer"); 1`);
  assert.ok(await device.playUntil(page, "sensing.Accelerometer.sensor.hasReading", still));
  assert.deepEqual(await page.evaluate("log"), ["Accelerometer activate"]);
  assert.deepEqual(
    await page.evaluate("(({ sensor: s }) => [s.activated, s.hasReading, typeof s.x])(sensing.Accelerometer)"),
    [true, true, "number"],
  );
  const stopped =
    "(({ sensor: s }) => { s.stop(); return [s.activated, s.hasReading, s.x, s.timestamp]; })(sensing.Accelerometer)";
  assert.deepEqual(await page.evaluate(stopped), [false, false, null, null]);
  await page.close();
});

test("a hidden tab gets nothing", { skip }, async () => {
  const hidden = await listening();
  assert.ok(await device.playUntil(hidden, "motion.length > 10", still));
  const shown = await listening("/silent");
  while ((await hidden.evaluate("document.visibilityState")) !== "hidden") await pause(50);
  await pause(1000); // what was on its way has come
  const before = await hidden.evaluate<number>("motion.length");
  await device.play(1000, still);
  assert.equal(await hidden.evaluate("document.visibilityState"), "hidden");
  assert.equal(await hidden.evaluate("motion.length"), before);
  await shown.close();
  await hidden.close();
});

const choose = (change: string) => device.choose(site.origin, change);

test("a site that is switched off gets an error, no motion, and a denied permission", { skip }, async () => {
  await device.switchSite(site.origin, "off");
  await listening();
  await page.evaluate(`sense("Accelerometer"); 1`);
  assert.ok(await device.playUntil(page, "log.length", still));
  await device.play(500, still);
  assert.equal(await page.evaluate("motion.filter((each) => each.g?.[0] != null).length"), 0);
  assert.deepEqual(await page.evaluate("log"), ["Accelerometer NotAllowedError"]);
  assert.equal(
    await page.evaluate(`navigator.permissions.query({ name: "gyroscope" }).then((status) => status.state)`),
    "denied",
  );
  await page.close();
  await device.switchSite(site.origin, "on");
  await listening();
  assert.equal(
    await page.evaluate(`navigator.permissions.query({ name: "gyroscope" }).then((status) => status.state)`),
    "granted",
  );
  assert.ok(await device.playUntil(page, "motion.length > 10", still));
  await page.close();
});

async function spent(): Promise<number> {
  const charges = await device.kept<{ minutes: number[][]; before: { draws: number } }>("charges");
  return charges ? charges.minutes.reduce((sum, [, draws]) => sum + draws!, charges.before.draws) : 0;
}

test("however often a page starts and stops, there is one draw for a window of time", { skip }, async () => {
  await listening("/silent");
  const before = await spent();
  await page.send("Page.bringToFront");
  const start = Date.now();
  await page.evaluate(
    `window.again = () => {
      const listener = () => {};
      addEventListener("devicemotion", listener);
      setTimeout(() => {
        removeEventListener("devicemotion", listener);
        setTimeout(again, 5);
      }, 40);
    };
    for (let at = 0; at < 5; at += 1) again();`,
  );
  await device.play(3000, still);
  const windows = (Date.now() - start) / 200; // the bundle's windows last 0.2 s
  await page.close();
  const drawn = (await spent()) - before;
  assert.ok(drawn <= windows + 1, `${drawn} draws in ${windows} windows of time`);
});

test("when the budget is spent, draws end; the person chooses what pages get then", { skip }, async () => {
  await choose(`$("hours").value = "0.0001"; await changed("hours");`); // two draws of 0.2 s
  const before = await spent();
  await listening();
  assert.ok(await device.playUntil(page, "motion.length > 10", still), "made-up motion");
  await page.close();
  assert.equal((await spent()) - before, 0);
  await choose(`$("spent").value = "nothing"; await changed("spent");`);
  await listening();
  await device.play(1200, still);
  assert.equal(await page.evaluate("motion.filter((each) => each.g?.[0] != null).length"), 0, "no motion");
  await page.close();
  await choose(
    `$("spent").value = "placeholder"; await changed("spent"); $("hours").value = ""; await changed("hours");`,
  );
});

test("a page can read the protection's state if the person lets it, and cannot otherwise", { skip }, async () => {
  await listening("/marked");
  assert.ok(await device.playUntil(page, "motion.length > 10", still));
  assert.deepEqual(await page.evaluate(`[states, "deeprotect" in navigator]`), [[], false]);
  await page.close();
  await choose(`$("tell").checked = true; await changed("tell");`);
  await listening("/marked");
  assert.ok(await device.playUntil(page, `states.some(({ state }) => state === "live")`, still));
  const [first, ...others] = await page.evaluate<Status[]>("states");
  assert.equal(first!.state, "starting");
  assert.ok(first!.secondsToFirstWindow! > 0);
  for (const { missing, reason } of others) assert.deepEqual([missing, reason], [[], null], "nothing about readings");
  await page.evaluate(`try { navigator.deeprotect.state = "none"; } catch {}`);
  assert.notEqual(await page.evaluate("navigator.deeprotect.state"), "none");
  await page.close();
  await choose(`$("tell").checked = false; await changed("tell");`);
});

/** Feeds until the popup's status says so. */
async function popupSays(text: string): Promise<void> {
  let isDone = false;
  const said = choose(`for (const end = Date.now() + 60_000; $("status").textContent !== "${text}"; ) {
    if (Date.now() > end) throw new Error("the popup says: " + $("status").textContent);
    await new Promise((done) => setTimeout(done, 10));
  }`).finally(() => (isDone = true));
  while (!isDone) await device.play(100, still);
  await said;
}

test(
  "the popup says what the stream is doing while a page reads, and that no page reads after it",
  { skip },
  async () => {
    await listening();
    await popupSays("Live.");
    await page.close();
    await popupSays("No page reads motion now.");
  },
);

test("other sensors rest, or are not there, as the person chooses", { skip }, async () => {
  await choose(`$("uncovered").value = "nothing"; await changed("uncovered");`);
  await listening();
  await page.evaluate(`sense("Gyroscope"); sense("Accelerometer"); 1`);
  assert.ok(await device.playUntil(page, "log.length === 2 && motion.at(-1)?.g?.[0] != null", still));
  assert.deepEqual((await page.evaluate<string[]>("log")).sort(), [
    "Accelerometer activate",
    "Gyroscope NotReadableError",
  ]);
  assert.deepEqual(await page.evaluate("motion.at(-1).r"), [null, null, null]);
  await page.close();
  await choose(`$("uncovered").value = "rest"; await changed("uncovered");`);
});

async function untilShown(popup: Page): Promise<void> {
  while (!(await popup.evaluate(`document.getElementById("seal")?.dataset.shown`))) await pause(20);
}

async function claim(on: Device, origin: string): Promise<[string, string]> {
  const popup = await on.browser.open(`chrome-extension://${ID}/popup.html?site=${encodeURIComponent(origin)}`);
  await untilShown(popup);
  const said = await popup.evaluate<[string, string]>(
    `[document.getElementById("seal").textContent, document.getElementById("sealed").textContent]`,
  );
  await popup.close();
  return said;
}

/** Waits for the popup's claim, however slow the machine. */
async function claims(on: Device, origin: string, state: string): Promise<string> {
  for (const end = Date.now() + 30_000; ; await pause(200)) {
    const [found, text] = await claim(on, origin);
    if (found === state || Date.now() > end) return assert.equal(found, state, text) ?? text;
  }
}

test("it claims to be sealed where the browser denies the page what it grants to the extension", { skip }, async () => {
  await claims(device, site.origin, "Sealed");
});

test("it warns of a site that was allowed apart, and takes the claim back", { skip }, async () => {
  const origin = site.origin;
  await device.browser.send("Browser.setPermission", {
    permission: { name: "accelerometer" },
    setting: "granted",
    origin,
  });
  await listening();
  await claims(device, origin, "Partial");
  await device.browser.send("Browser.resetPermissions");
  await claims(device, origin, "Sealed");
  await page.close();
});

test("before the setting is made it says partial", { skip }, async () => {
  const open = await Device.start({});
  await open.learnSeal(`${site.origin}/silent`);
  const text = await claims(open, site.origin, "Partial");
  await open.close();
  assert.match(text, /Not protected against a site that wants raw motion/);
});
