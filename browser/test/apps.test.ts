// Unmodified packages from npm that read motion run in a page under the extension, without errors and with effect.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type VectorBundle, bundleOf } from "../../device/test/vectors";
import { findChromium, pause } from "./chromium";
import { Device, SEALED, exported, read, serve, table } from "./harness";

const skip = findChromium() ? false : "Chromium is missing: install chromium";
const CATCH = `<script>window.errors = [];
  for (const type of ["devicemotion", "deviceorientation"])
    addEventListener(type, ({ timeStamp }) => (window.first ??= timeStamp), { once: true });
  addEventListener("error", (e) => errors.push(e.message));
  addEventListener("unhandledrejection", (e) => errors.push(String(e.reason)));</script>`;
const page = (scripts: string[], body: string) =>
  `<!doctype html><body>${CATCH}${scripts.map((src) => `<script src="${src}"></script>`).join("")}${body}`;

interface App {
  files: string[];
  body: string;
  /** An expression that counts how often the app noticed motion. */
  noticed: string;
}

const APPS: { [name: string]: App } = {
  "shake.js": {
    files: ["shake.js/shake.js"],
    body: `<script>window.count = 0; new Shake({ threshold: 0.3, timeout: 100 }).start();
      addEventListener("shake", () => count++);</script>`,
    noticed: "count",
  },
  gyronorm: {
    files: ["gyronorm/dist/gyronorm.complete.min.js"],
    body: `<script>window.count = 0; const gn = new GyroNorm();
      gn.init({ frequency: 50 }).then(() => gn.start((data) => {
      if (Number.isFinite(data.dm.gx) && Number.isFinite(data.do.beta)) count++; }));</script>`,
    noticed: "count",
  },
  "parallax-js": {
    files: ["parallax-js/dist/parallax.min.js"],
    body: `<div id="scene" style="width:300px;height:300px"><div data-depth="0.9"><p>layer</div></div>
      <script>window.count = 0; const scene = document.getElementById("scene"); new Parallax(scene);
      new MutationObserver(() => count++).observe(scene, { attributes: true, subtree: true });</script>`,
    noticed: "count",
  },
  "motion-sensors-polyfill": {
    files: [],
    body: `<script type="module">
      import * as sensors from "/motion-sensors-polyfill/src/motion-sensors.js";
      const { Accelerometer, Gyroscope, RelativeOrientationSensor } = sensors;
      window.count = 0;
      for (const Kind of [Accelerometer, Gyroscope, RelativeOrientationSensor]) {
        const sensor = new Kind({ frequency: 30 });
      sensor.onreading = () => count++; sensor.onerror = (e) => errors.push(e.error.name); sensor.start(); }</script>`,
    noticed: "count",
  },
};

let site: Awaited<ReturnType<typeof serve>>;

before(async () => {
  if (skip) return;
  site = await serve((path) => {
    const app = APPS[path.replace("/app/", "")];
    if (path.startsWith("/app/") && app)
      return {
        text: page(
          app.files.map((file) => `/${file}`),
          app.body,
        ),
        headers: { "content-type": "text/html" },
      };
    return path.endsWith(".js") ? read(`node_modules${path}`) : "<!doctype html>";
  });
});

after(async () => {
  if (skip) return;
  site.server.closeAllConnections();
  site.server.close();
});

/** The small bundle with windows of this length. */
function lasting(seconds: number): VectorBundle {
  const bundle = bundleOf("channel ldp");
  const protector = JSON.parse(bundle.protector) as { stream: { rateHz: number; window: number } };
  protector.stream.rateHz = protector.stream.window / seconds;
  return { ...bundle, protector: JSON.stringify(protector) };
}

const rows: string[] = [];
const LOADS = 3;

for (const seconds of [0.2, 1, 4]) {
  test(`packages run on released motion in windows of ${seconds} s`, { skip, timeout: 500_000 }, async () => {
    const device = await Device.start(SEALED, exported(lasting(seconds)));
    try {
      await device.learnSeal(`${site.origin}/empty`);
      while (!(await device.kept("sensors"))) await pause(50); // it has looked for them
      while (await device.reads()) await pause(50); // a document that is older than that answer shows no phone at rest
      for (const name of Object.keys(APPS)) {
        let [noticed, errors] = [false, [] as string[]];
        // Packages wait half a second for a sensor: on a busy machine the page is opened again, as a person would do.
        for (let load = 0; load < LOADS && (!noticed || errors.length); load += 1) {
          const tab = await device.browser.open(`${site.origin}/app/${name}`, async (opened) => {
            await opened.send("Emulation.setUserAgentOverride", {
              userAgent: "Mozilla/5.0 (Linux; Android 14) Chrome/150 Mobile",
            });
          });
          await tab.send("Page.bringToFront");
          noticed = await device.playUntil(tab, `${APPS[name]!.noticed} > 3`, (at) => [3 * Math.sin(at / 100), 1, 9.8]);
          errors = await tab.evaluate<string[]>("errors");
          const first = await tab.evaluate<number>("Math.round(window.first)");
          const cells = [name, `${seconds} s`, `${first} ms`, noticed ? "yes" : "no", errors.join("; ") || "none"];
          rows.push(`| ${cells.join(" | ")} |`);
          // A placeholder comes at once; the first window takes longer than one lasts.
          if (seconds === 4) assert.ok(first < 4000, `${name}: the first event after ${first} ms`);
          await tab.close();
        }
        assert.deepEqual(errors, [], name);
        assert.ok(noticed, `${name} noticed motion`);
      }
    } finally {
      await device.close();
    }
  });
}
test("the table is written", { skip }, () =>
  table("packages", [
    "| package | windows | first event | notices motion | errors |",
    "|---|---|---|---|---|",
    ...rows,
  ]),
);
