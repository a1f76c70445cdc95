// Replays recordings through virtual sensors to a page without and a page with the extension at the same time.
// node replay.mjs out/proof/watch
import { readFileSync, writeFileSync } from "node:fs";
import { Chromium, type Page, pause } from "../test/chromium";
import { Device, SEALED, serve } from "../test/harness";

const RATE_HZ = 50;
const MOST_WAITING = 5; // samples that the browsers have not answered yet
const folder = process.argv[2]!;
const { app, segments } = JSON.parse(readFileSync(`${folder}/replay.json`, "utf8")) as {
  app: object;
  segments: { person: string; activity: string; samples: number[][] }[];
};

async function feed(pages: Page[], sample: number[]): Promise<void> {
  const [x, y, z, a, b, c] = sample as [number, number, number, number, number, number];
  const turn = Math.PI / 180;
  const readings = [
    ["accelerometer", { xyz: { x, y, z } }],
    ["linear-acceleration", { xyz: { x, y, z } }],
    ["gyroscope", { xyz: { x: a * turn, y: b * turn, z: c * turn } }],
  ] as const;
  await Promise.all(
    pages.flatMap((page) =>
      readings.map(([type, reading]) => page.send("Emulation.setSensorOverrideReadings", { type, reading })),
    ),
  );
}

async function open(browser: Chromium, origin: string, fit: (page: Page) => Promise<void>): Promise<Page> {
  const page = await browser.open(origin, fit);
  await page.send("Page.bringToFront");
  await page.evaluate(`start(${JSON.stringify(app)})`);
  return page;
}

const site = await serve((path) =>
  path === "/app.js"
    ? readFileSync("out/proof/app.js", "utf8")
    : `<!doctype html><title>app</title><script src="/app.js"></script>`,
);
const bare = await Device.bare();
const device = await Device.start(SEALED, `${folder}/exported/extension`);
await device.learnSeal(`${site.origin}/app.js`);
const pages = {
  without: await open(bare.browser, site.origin, (page) => bare.fit(page)),
  with: await open(device.browser, site.origin, async () => {}),
};
const schedule: { start: number; end: number; person: string; activity: string }[] = [];
let [fed, wanted, waiting] = [0, 0, 0]; // samples: a machine that is too busy leaves some out
for (const [number, { person, activity, samples }] of segments.entries()) {
  const start = Date.now();
  for (let at = 0; at < samples.length; at = Math.floor(((Date.now() - start) * RATE_HZ) / 1000)) {
    if (waiting < MOST_WAITING) {
      [waiting, fed] = [waiting + 1, fed + 1];
      void feed([pages.without, ...device.fitted], samples[at]!).finally(() => (waiting -= 1));
    }
    await pause(Math.max(0, start + ((at + 1) * 1000) / RATE_HZ - Date.now()));
  }
  wanted += samples.length;
  schedule.push({ start, end: Date.now(), person, activity });
  if (number % 10 === 9)
    console.log(`${number + 1} of ${segments.length}, ${((100 * fed) / wanted).toFixed(1)} % of samples fed`);
}
await pause(2000);
const seen: { [page: string]: object[] } = {};
for (const [name, page] of Object.entries(pages)) {
  const readings = await page.evaluate<{ end: number; events: number; window: number[]; read: string }[]>("readings");
  seen[name] = readings.flatMap(({ end, events, window, read }) => {
    const piece = schedule.find((each) => each.start <= end && end <= each.end);
    return piece
      ? [
          {
            ...piece,
            after: end - piece.start,
            length: piece.end - piece.start,
            events,
            window: window.map((each) => Number(each.toFixed(2))),
            read,
          },
        ]
      : [];
  });
  console.log(name, readings.length, "windows");
}
writeFileSync(`${folder}/seen.json`, JSON.stringify({ fed: fed / wanted, seen }));
await device.browser.close();
await bare.close();
site.server.closeAllConnections();
site.server.close();
