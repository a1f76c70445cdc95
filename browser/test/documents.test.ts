// Which documents get motion: frames as the page's own policy allows them, pages when they are seen.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Page, findChromium, pause } from "./chromium";
import { Device, SEALED, read, serve } from "./harness";

const skip = findChromium() ? false : "Chromium is missing: install chromium";
const LISTENING = skip ? "" : `<!doctype html><script>${read("test/pages/listening.js")}</script>`;
const SOON = JSON.stringify({ prerender: [{ urls: ["/later"] }] });
const PAGES: { [path: string]: string | { text: string; headers: { [name: string]: string } } } = {
  "/": LISTENING,
  "/later": LISTENING,
  "/empty": "<!doctype html><p>",
  "/before": `<!doctype html><script type="speculationrules">${SOON}</script>
    <script>setTimeout(() => (location.href = "/later"), 4000)</script>`,
  "/denies": { text: LISTENING, headers: { "Permissions-Policy": "accelerometer=(), gyroscope=()" } },
};

let device: Device;
let site: Awaited<ReturnType<typeof serve>>;
let page: Page;

before(async () => {
  if (skip) return;
  site = await serve((path) => PAGES[path] ?? null);
  device = await Device.start(SEALED);
  await device.learnSeal(`${site.origin}/empty`);
});

after(async () => {
  if (skip) return;
  await device.close();
  site.server.closeAllConnections();
  site.server.close();
});

async function shown(path: string): Promise<Page> {
  page = await device.browser.open(site.origin + path);
  await page.send("Page.bringToFront");
  return page;
}

const still = () => [0.5, 1, 9.8];
const READ = "motion.filter((each) => each.g?.[0] != null).length";

/** Adds a frame to the page and focuses it. */
async function framed(address: string, allow: string): Promise<Page> {
  const known = new Set((await targets()).map(({ targetId }) => targetId));
  await page.evaluate(`new Promise((done) => { const f = document.createElement("iframe");
    f.allow = "${allow}"; f.src = "${address}";
    f.onload = () => { f.focus(); done(1); }; document.body.append(f); })`);
  const made = (await targets()).find(({ targetId }) => !known.has(targetId));
  return device.browser.attach(made!.targetId);
}

async function targets(): Promise<{ targetId: string }[]> {
  return (await device.browser.send("Target.getTargets", { filter: [{ type: "iframe" }] })).targetInfos;
}

test("frames get motion where the page's own policy lets them", { skip }, async () => {
  await shown("/empty");
  const other = `http://127.0.0.1:${site.port}/`;
  await page.evaluate(
    `new Promise((done) => { const f = document.createElement("iframe"); f.src = "/"; f.onload = () => done(1);
      document.body.append(f); })`,
  );
  const denied = await framed(other, "");
  const allowed = await framed(other, "accelerometer; gyroscope");
  assert.ok(await device.playUntil(page, "frames[0].motion.length > 30", still), "a frame of the same origin");
  assert.ok(await device.playUntil(allowed, `${READ} > 10`, still), "the one that is allowed");
  assert.equal(await denied.evaluate("motion.length"), 0, "not the one that is not");
  await page.close();
});

test("a frame that may read one sensor reads that one alone", { skip }, async () => {
  await shown("/empty");
  const other = `http://127.0.0.1:${site.port}/`;
  const [mine, forbidden] = ["Accelerometer", "Gyroscope"];
  const sense = (name: string) =>
    `(() => { try { sense("${name}"); return "made"; } catch (error) { return error.name; } })()`;
  for (const [may, mayNot] of [
    [mine, forbidden],
    [forbidden, mine],
  ] as const) {
    const frame = await framed(other, may.toLowerCase());
    assert.equal(await frame.evaluate(sense(may)), "made");
    while ((await frame.evaluate(sense(mayNot))) !== "SecurityError") await pause(20); // its parent answers
    assert.ok(await device.playUntil(frame, `sensing.${may}.seen.length > 5`, still), may);
    assert.equal(await frame.evaluate("motion.length"), 0, "devicemotion needs both");
  }
  await page.close();
});

test("a page that denies itself motion gets none, and no empty event", { skip }, async () => {
  await shown("/denies");
  await device.play(1000, still);
  assert.equal(await page.evaluate("motion.length + orientations.length"), 0);
  assert.equal(
    await page.evaluate(`(() => { try { new Accelerometer(); } catch (error) { return error.name; } })()`),
    "SecurityError",
  );
  await page.close();
});

test("a page that one comes back to reads on", { skip }, async () => {
  await shown("/");
  await page.evaluate(`addEventListener("pageshow", (event) => (window.kept = event.persisted)); 1`);
  assert.ok(await device.playUntil(page, `${READ} > 10`, still));
  await page.go(`${site.origin}/empty`);
  await page.evaluate("history.back()");
  assert.ok(await device.playUntil(page, "typeof motion === 'object' && document.readyState === 'complete'", still));
  const before = await page.evaluate<number>(READ);
  assert.ok(await device.playUntil(page, `${READ} > ${before + 10}`, still));
  console.log("back:", (await page.evaluate<boolean>("window.kept === true")) ? "as it was left" : "loaded again");
  await page.close();
});

test("a page that is rendered before it is shown gets nothing until then", { skip }, async () => {
  // Chromium does not prerender in tabs that a driver is attached to.
  await device.browser.send("Target.createTarget", { url: `${site.origin}/before` });
  await device.play(3000, still);
  const { targetId } = await device.browser.target(
    ({ url, type, subtype }) => url === `${site.origin}/later` && type === "page" && subtype !== "prerender",
  );
  page = await device.browser.attach(targetId);
  await page.send("Page.bringToFront");
  assert.ok(await device.playUntil(page, `${READ} > 10`, still));
  const [early, activated] = await page.evaluate<[number, number]>(
    `(() => { const at = performance.getEntriesByType("navigation")[0].activationStart;
      return [motion.filter(({ t }) => t < at).length, at]; })()`,
  );
  console.log("rendered before it was shown:", activated > 0);
  assert.equal(early, 0);
  await page.close();
});
