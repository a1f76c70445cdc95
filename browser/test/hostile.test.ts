// A hostile page sees no raw value when sealed: the test searches all it observes for a canary in the raw stream.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findChromium, pause } from "./chromium";
import { Device, EVERY, ID, SEALED, type Site, read, serve, table } from "./harness";

const skip = findChromium() ? false : "Chromium is missing: install chromium";
// Larger than any released value, and than any number computed from one.
const CANARY = [55.5, -66.6, 77.7];
const TURN = [50.1, -60.2, 70.3]; // rad/s
const ALPHA = 222.2; // degrees
const spy = skip ? "" : read("test/pages/spy.js");

/** The canary in every unit in which a page could see it. */
const TELLTALES = [...CANARY, ...TURN, ...TURN.map((each) => (each * 180) / Math.PI), ALPHA].map(Math.abs);

/** Angles of released gravity reach 180 degrees; only the raw stream's is larger. */
function isRaw(way: string, number: number): boolean {
  const telltales = /orientation/i.test(way) ? [ALPHA] : TELLTALES;
  return telltales.some((each) => Math.abs(Math.abs(number) - each) < 0.06);
}

function script(text: string): string {
  return `<script>${text.replaceAll("</script", "<\\/script")}</script>`;
}

/** The site's service worker answers for pages under /worked, and removes all headers. */
const WORKER = `onfetch = (e) => {
  const { pathname, search } = new URL(e.request.url);
  const answer = (text) => new Response(text, { headers: { "content-type": "text/html" } });
  if (pathname.startsWith("/worked/"))
    e.respondWith(fetch(pathname.slice(7) + search).then((r) => r.text()).then(answer));
};
oninstall = () => skipWaiting();
onactivate = (e) => e.waitUntil(clients.claim());`;

function site(other: () => string) {
  const spying = `<!doctype html><script>${spy};
const { search, pathname } = location;
const name = decodeURIComponent(search.slice(1) || pathname.split("/").pop());
document.write(spying(new URLSearchParams(search).get("trick") || name))</script>`;
  const before = JSON.stringify({
    prerender: [{ urls: [`/spying?${encodeURIComponent("pop-up of a page that was rendered before")}`] }],
  });
  const fetched = JSON.stringify({
    prefetch: [{ urls: [`/spying?${encodeURIComponent("pop-up that was fetched before")}`], eagerness: "immediate" }],
  });
  return (path: string): ReturnType<Site> => {
    if (path === "/" || path === "/main") {
      const start = `const OTHER="${other()}",ID="${ID}";${spy}\n`;
      const parts = ["hostile", "detours", "lab", "openings"].map((name) => read(`test/pages/${name}.js`));
      return `<!doctype html>${script(start + parts[0])}${parts.slice(1).map(script).join("")}`;
    }
    if (path === "/lab")
      return `<!doctype html><body>${script(`${spy}\n${read("test/pages/lab.js")};
const name = decodeURIComponent(location.search.slice(1));
try { LAB[name](name); } catch (error) { tell(name + "/failed " + error.name, []); }
parent.postMessage("tried", "*")`)}`;
    if (path === "/prerendering") return `<!doctype html><script type="speculationrules">${before}</script>`;
    if (path === "/prefetching") return `<!doctype html><script type="speculationrules">${fetched}</script>`;
    if (path === "/204") return { text: "", headers: {}, status: 204 };
    if (path === "/attachment") return { text: "text", headers: { "Content-Disposition": "attachment" } };
    if (path === "/text") return { text: "text", headers: { "content-type": "text/plain" } };
    if (path === "/isolated")
      return {
        text: "<p>",
        headers: { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" },
      };
    if (path === "/stall") return new Promise<string>(() => {});
    if (path === "/empty") return "<!doctype html><p>";
    if (path === "/spying" || path.startsWith("/worked/")) return spying;
    if (path === "/loose")
      return { text: spying, headers: { "Permissions-Policy": "accelerometer=*, gyroscope=*, broken((" } };
    return path === "/sw.js" ? WORKER : null;
  };
}

interface Observed {
  seen: { [way: string]: number[] };
  tricks: string[];
  gaps: [number, number][];
}

type Kind = "ordinary" | "service worker";

/** Opens the page with sensors in its tab, its pop-ups and the extension, and gives it time for its tricks. */
async function attack(device: Device, kind: Kind, isProtected = true): Promise<Observed> {
  const other = await serve((path) => site(() => "")(path));
  const main = await serve(site(() => `http://127.0.0.1:${other.port}`));
  try {
    if (isProtected) await device.learnSeal(`${main.origin}/empty`);
    await device.fitAll("page"); // pop-ups, too, before they run
    const page = await device.browser.open(`${main.origin}/empty`);
    await page.evaluate(
      `navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready).then(() => 1)`,
    );
    await page.go(main.origin + (kind === "ordinary" ? "/main" : "/worked/main"));
    await page.send("Page.bringToFront");
    // Until all tricks with frames of their own have run, however slow the machine.
    for (
      const end = Date.now() + 60_000;
      Date.now() < end && !(await page.evaluate("window.labs > 0 && tried >= labs"));
    )
      await feedCanary(device, 500);
    await page.send("Page.bringToFront"); // its pop-ups are before it
    await feedCanary(device, 4000);
    for (const type of ["mousePressed", "mouseReleased"])
      await page.send("Input.dispatchMouseEvent", { type, x: 20, y: 20, button: "left", clickCount: 1 });
    await feedCanary(device, 1000);
    for (const name of await page.evaluate<string[]>("Object.keys(CLICKED)")) {
      await page.send("Page.bringToFront");
      await page.evaluate(`click(${JSON.stringify(name)})`); // as a person's
      await feedCanary(device, 500);
    }
    for (const popup of [...device.fitted].filter(({ target }) => target !== page.target)) {
      await popup.send("Page.bringToFront").catch(() => {}); // only what is seen gets readings
      await feedCanary(device, 500);
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
  for (const start = Date.now(); Date.now() - start < milliseconds;) {
    // The sign alternates, because some sensors report changes only.
    const sign = Math.floor((Date.now() - start) / 100) % 2 ? 1 : -1;
    await device.feed(
      CANARY.map((each) => sign * each),
      TURN.map((each) => sign * each),
    );
    await Promise.all(
      [...device.fitted].map((page) =>
        device.sense(page, [
          ["relative-orientation", reading],
          ["absolute-orientation", reading],
        ]),
      ),
    );
    await pause(15);
  }
}

/** Where a raw value was seen, or could have been: a sensor that twice lacks only its hardware has the permission. */
function leaks({ seen }: Observed): string[] {
  return Object.keys(seen).filter(
    (way) => way.endsWith("NotReadableError again trusted=true") || seen[way]!.some((number) => isRaw(way, number)),
  );
}

/** Tricks that found the canary; some look twice. */
function leaking(observed: Observed): string[] {
  const names = leaks(observed).map((way) =>
    way.split("/")[0]!.replace(/, (later|loaded|its next page)(, later)?$/, ""),
  );
  return [...new Set(names)].sort();
}

/** Tricks that get past partial, as docs/browser.md says: only the browser's own setting stops them. */
const OPENED = [
  "button in an open tree",
  "form in an open tree",
  "form sent by a function of a frame without a script",
  "link in a closed tree",
  "link whose address changes while it is clicked",
  "picture in picture, with an empty frame",
  "pop-up blob: with a frame of a script, at once",
  "pop-up blob: with an empty frame",
  "pop-up opened again by a function of a frame without a script",
  "pop-up without content, with a frame of a script",
  "pop-up without content, with an empty frame",
];
const FRAMES = [
  "a document of SVG",
  "a document of XHTML",
  "frame met by an element beside it",
  "javascript: frame that runs",
  "sandboxed frame without scripts",
  "srcdoc frame, its first window",
];
const remains = (kind: Kind, name: string): boolean =>
  OPENED.includes(name) || (kind === "service worker" && (FRAMES.includes(name) || name.startsWith("frame ")));
const KINDS: Kind[] = ["ordinary", "service worker"];
const NO_BLOCKER = ["--disable-popup-blocking"];
const LONGEST_MS = 1_200_000; // on a busy machine, where each of sixty pop-ups is slow to come to the front
const rows: string[] = [];

async function tried(name: "bare" | "partial" | "sealed", kind: Kind, blocker: boolean): Promise<Observed> {
  const flags = blocker ? [] : NO_BLOCKER;
  const device =
    name === "bare" ? await Device.bare(flags) : await Device.start(name === "sealed" ? SEALED : {}, undefined, flags);
  const observed = await attack(device, kind, name !== "bare");
  const found = leaking(observed);
  console.log(
    `${name}, ${kind}, blocker ${blocker}: ${observed.tricks.length} tricks, ${found.length} leak: ${found.join("; ")}`,
  );
  const browser = name === "bare" ? "without the extension" : name;
  const cells = [browser, kind, blocker ? "on" : "off", observed.tricks.length, found.length];
  rows.push(`| ${cells.join(" | ")} |`);
  return observed;
}

/** The test command tries an ordinary page with the pop-up blocker on. */
const WHERE: [Kind, boolean][] = EVERY
  ? KINDS.flatMap(
      (kind) =>
        [
          [kind, true],
          [kind, false],
        ] as [Kind, boolean][],
    )
  : [["ordinary", true]];

for (const [kind, blocker] of WHERE) {
  const page = kind === "ordinary" ? "an ordinary page" : "a page of its service worker";
  const where = `${page}, pop-up blocker ${blocker ? "on" : "off"}`;
  test(
    `sealed: a hostile page with many tricks sees no raw value: ${where}`,
    { skip, timeout: LONGEST_MS },
    async () => {
      const observed = await tried("sealed", kind, blocker);
      assert.ok(observed.tricks.length >= 150);
      assert.ok(Object.values(observed.seen).flat().length > 1000, "the page saw released values");
      assert.deepEqual(leaks(observed), []);
    },
  );
  test(
    `partial: what gets past the header and the script is what we say: ${where}`,
    { skip, timeout: LONGEST_MS },
    async () => {
      const observed = await tried("partial", kind, blocker);
      assert.deepEqual(
        leaking(observed).filter((name) => !remains(kind, name)),
        [],
      );
    },
  );
  test(`without the extension the same page finds the canary: ${where}`, { skip, timeout: LONGEST_MS }, async () => {
    assert.ok(leaking(await tried("bare", kind, blocker)).length > 20);
  });
}
test("the table is written", { skip }, () => {
  table("hostile", [
    "| browser | page | pop-up blocker | tricks | tricks that found the canary |",
    "|---|---|---|---|---|",
    ...rows,
  ]);
});
