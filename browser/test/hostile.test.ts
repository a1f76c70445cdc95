// A hostile page sees no raw value when sealed: a canary in the raw stream is searched for in all that it observes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findChromium, pause } from "./chromium";
import { Device, ID, SEALED, type Site, read, serve } from "./harness";

const skip = findChromium() ? false : "Chromium is missing: install chromium";
// Larger than anything that can be released, or be made of it: no released value can be mistaken for it.
const CANARY = [55.5, -66.6, 77.7];
const TURN = [50.1, -60.2, 70.3]; // rad/s
const ALPHA = 222.2; // degrees
const spy = skip ? "" : read("test/pages/spy.js");

/** Every number that would give the canary away, in any unit in which a page could see it. */
const TELLTALES = [...CANARY, ...TURN, ...TURN.map((each) => (each * 180) / Math.PI), ALPHA].map(Math.abs);

/** Angles of released gravity can be any up to 180 degrees; the raw stream's alone is larger. */
function isRaw(way: string, number: number): boolean {
  const telltales = /orientation/i.test(way) ? [ALPHA] : TELLTALES;
  return telltales.some((each) => Math.abs(Math.abs(number) - each) < 0.06);
}

function site(other: () => string) {
  const spying = `<!doctype html><script>${spy};document.write(spying(new URLSearchParams(location.search).get("trick")||decodeURIComponent(location.search.slice(1)||location.pathname.split("/").pop())))</script>`;
  const before = JSON.stringify({ prerender: [{ urls: [`/spying?${encodeURIComponent("pop-up of a page that was rendered before")}`] }] });
  return (path: string): ReturnType<Site> => {
    if (path === "/") {
      const [tricks, more] = [read("test/pages/hostile.js"), read("test/pages/detours.js")];
      return `<!doctype html><script>const OTHER="${other()}",ID="${ID}";${spy}\n${tricks}</script><script>${more.replaceAll("</script", "<\\/script")}</script>`;
    }
    if (path === "/prerendering") return `<!doctype html><script type="speculationrules">${before}</script>`;
    if (path === "/204") return { text: "", headers: {}, status: 204 };
    if (path === "/text") return { text: "text", headers: { "content-type": "text/plain" } };
    if (path === "/isolated") return { text: "<p>", headers: { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" } };
    if (path === "/stall") return new Promise<string>(() => {});
    if (path === "/empty") return "<!doctype html><p>";
    if (path === "/spying") return spying;
    if (path === "/loose") return { text: spying, headers: { "Permissions-Policy": "accelerometer=*, gyroscope=*, broken((" } };
    if (path === "/sw.js") {
      return `onfetch=(e)=>{const u=new URL(e.request.url);if(u.pathname.startsWith("/worked/"))e.respondWith(new Response(
        ${JSON.stringify(spying)},{headers:{"content-type":"text/html"}}))};oninstall=()=>skipWaiting();onactivate=(e)=>e.waitUntil(clients.claim())`;
    }
    return null;
  };
}

interface Observed {
  seen: { [way: string]: number[] };
  tricks: string[];
  gaps: [number, number][];
}

/** Opens the page with sensors in its own tab and pop-ups as well as in the extension, and lets it try for a while. */
async function attack(device: Device, isProtected = true): Promise<Observed> {
  const other = await serve((path) => site(() => "")(path));
  const main = await serve(site(() => `http://127.0.0.1:${other.port}`));
  try {
    if (isProtected) await device.learnSeal(`${main.origin}/empty`);
    await device.fitAll("page"); // pop-ups, too, before they run
    const page = await device.browser.open(main.origin);
    await page.send("Page.bringToFront");
    await feedCanary(device, 4000);
    for (const popup of [...device.fitted].filter(({ target }) => target !== page.target)) {
      await popup.send("Page.bringToFront").catch(() => {}); // only what is seen gets readings
      await feedCanary(device, 800);
    }
    return await page.evaluate<Observed>("({ seen, tricks, gaps: window.gaps })");
  } finally {
    await device.close();
    main.server.closeAllConnections();
    other.server.closeAllConnections();
    main.server.close();
    other.server.close();
  }
}

async function feedCanary(device: Device, milliseconds: number): Promise<void> {
  const half = (ALPHA * Math.PI) / 360;
  const reading = { quaternion: { x: 0, y: 0, z: Math.sin(half), w: Math.cos(half) } };
  for (const start = Date.now(); Date.now() - start < milliseconds; ) {
    // The sign changes, so that sensors which report changes only report it again and again.
    const sign = Math.floor((Date.now() - start) / 100) % 2 ? 1 : -1;
    await device.feed(CANARY.map((each) => sign * each), TURN.map((each) => sign * each));
    await Promise.all([...device.fitted].map((page) => device.sense(page, [["relative-orientation", reading], ["absolute-orientation", reading]])));
    await pause(15);
  }
}

/** Where a raw value was seen, or could have been: a sensor that only lacks its hardware, asked twice, has the permission to be read. */
function leaks({ seen }: Observed): string[] {
  return Object.keys(seen).filter((way) => way.endsWith("NotReadableError again trusted=true") || seen[way]!.some((number) => isRaw(way, number)));
}

const MORE = ["--disable-popup-blocking"];

/** Tricks that found the canary; some look twice. */
function leaking(observed: Observed): Set<string> {
  return new Set(leaks(observed).map((way) => way.split("/")[0]!.replace(/, (later|loaded|its next page)(, later)?$/, "")));
}

function count(what: string, observed: Observed): void {
  const numbers = Object.values(observed.seen).flat().length;
  const tricks = leaking(observed);
  console.log(`${what}: ${observed.tricks.length} tricks, ${numbers} numbers, ${tricks.size} tricks that leak:`, [...tricks].join("; "));
}

test("a hostile page with many tricks sees no raw value when sealed", { skip, timeout: 180_000 }, async () => {
  const observed = await attack(await Device.start(SEALED, undefined, MORE));
  count("sealed", observed);
  assert.ok(observed.tricks.length >= 30);
  assert.ok(Object.values(observed.seen).flat().length > 1000, "the page saw released values");
  assert.deepEqual(leaks(observed), []);
});

test("with the header and the shim alone, the page itself, its frames and its pop-ups see no raw value", { skip, timeout: 180_000 }, async () => {
  const observed = await attack(await Device.start({}, undefined, MORE));
  count("partial", observed);
  assert.deepEqual(leaks(observed).filter((way) => !/service worker/.test(way)), []);
});

test("without the extension the same page finds the canary", { skip, timeout: 180_000 }, async () => {
  const observed = await attack(await Device.bare(MORE), false);
  count("bare", observed);
  assert.ok(leaking(observed).size > 20);
});
