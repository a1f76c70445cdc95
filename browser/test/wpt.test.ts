// Web-platform-tests in a sealed Chromium: interfaces, permissions, rounding and visibility pass. Subtests that expect
// the fed value must fail, because passing would prove that raw values reach pages.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { findChromium } from "./chromium";
import { Device, SEALED, serve, table } from "./harness";
import { ROOT, type Stage, run, suite } from "./wpt";

const missing = findChromium()
  ? `the files of web-platform-tests are not at ${ROOT}`
  : "Chromium is missing: install chromium";
const skip = findChromium() && existsSync(ROOT) ? false : missing;

/** They compare readings with the fed values. */
const ECHO = [
  /'onreading' is called and sensor reading is valid/,
  /sensor reading is correct/,
  /readings are all mapped to expectedReadings correctly/,
  /fresh reading is fetched on start/,
  /Readings are not delivered when the page has no visibility/,
  /Readings delivered by shared platform sensor are immediately accessible/,
  /listeners added during event dispatch/,
  /listener from a callback works/,
  /Tests using multiple event handlers/,
  /Tests using null values for some or all/,
  /events are not fired when the page is not visible/,
  /falls back to using absolute orientation data/,
  /Tests basic operation of/,
  /populateMatrix\(\) method works correctly/,
  /updates to the (relative|absolute) orientation causes new events/,
];
/** They ask the driver for the hardware's rate, which a page no longer sets. */
const HARDWARE = [/capped to the maximum supported/, /limited to the minimum supported/];
/** They see the phone at rest that is shown until the first window, even if the sensors were just lost. */
const RESTING = [
  /onerror is send when start\(\) call has failed/,
  /updated if one of the frames is focused/,
  /sensor timestamp is updated when time passes/,
];
/** They feed missing values, or take a sensor away; a released reading has all of its values. */
const MISSING = [/Missing values are set to null/, /UA can never provide/];
/** No policy covers it, so the browser's own setting decides. */
const MAGNETOMETER = [/^(Uncalibrated)?Magnetometer/];
/** They expect an error as soon as a sensor is made. */
const LATER = [/disallows cross-origin/];
/** They need another driver, an insecure host, or files of the suite that are missing. */
const NOT_HERE = [
  /allows (same|cross)-origin|disallows same-origin|allow="accelerometer"/,
  /unfocused sensors in cross-origin frames/,
  /permissionsPolicy.features/,
];

const FOLDERS = [
  "accelerometer",
  "generic-sensor",
  "gyroscope",
  "magnetometer",
  "orientation-event",
  "orientation-sensor",
];

/** The suite's files about motion. */
function files(): string[] {
  const folders = FOLDERS.filter((name) => existsSync(join(ROOT, name)));
  const all = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => `${folder}/${String(name)}`),
  );
  const tests = all.filter((name) => /\.(html|window\.js)$/.test(name) && !/manual|insecure|resources/.test(name));
  return tests.map((name) => name.replace(".window.js", ".window.html")).sort();
}

/** Why subtests that pass without the extension fail with it. */
const REASONS: [RegExp[], string][] = [
  [ECHO, "it compares readings with the fed values"],
  [HARDWARE, "it asks the driver for the rate of the hardware, which a page no longer sets"],
  [RESTING, "it expects no reading yet; a phone at rest is shown until the first window"],
  [MISSING, "it feeds missing values; a released reading has all of its values"],
  [
    LATER,
    "a frame of another origin learns what it may read after it has loaded; a sensor made before that fails later",
  ],
  [MAGNETOMETER, "no policy covers the magnetometer, so the browser denies it"],
  [NOT_HERE, "it needs another driver, or files of the suite"],
];

const UNKNOWN = "none known";

function reason(name: string): string {
  return REASONS.find(([list]) => list.some((each) => each.test(name)))?.[1] ?? UNKNOWN;
}

/** A subtest that has a reason may fail; one that expects the fed value must. */
function wanted(name: string): "pass" | "fail" | "any" {
  if (ECHO.some((each) => each.test(name))) return "fail";
  return reason(name) === UNKNOWN ? "pass" : "any";
}

let stage: Stage;
let bare: Stage;
/** By reason and name, without the sensor's: how often a subtest that passes without the extension fails with it. */
const failing = new Map<string, number>();
let site: Awaited<ReturnType<typeof serve>>;
const count = { passed: 0, echo: 0, others: 0, bare: 0, both: 0 };

before(async () => {
  if (skip) return;
  site = await serve(suite(() => site.port));
  const device = await Device.start(SEALED, undefined, ["--enable-experimental-web-platform-features"]);
  const permit: Stage["permit"] = async (page, name, state) => {
    if (name === "ambient-light-sensor") {
      await device.browser.send("Browser.setPermission", { permission: { name }, setting: state, origin: site.origin });
      return;
    }
    await device.switchSite(site.origin, state === "denied" ? "off" : "on");
    await page.send("Page.bringToFront");
  };
  stage = { device, origin: site.origin, permit };
  const plain = await Device.bare(["--enable-experimental-web-platform-features"]);
  const allow: Stage["permit"] = async (page, name, setting) => {
    await plain.browser.send("Browser.setPermission", { permission: { name }, setting, origin: site.origin });
    await page.send("Page.bringToFront");
  };
  bare = { device: plain, origin: site.origin, permit: allow };
  await device.learnSeal(`${site.origin}/resources/blank.html`);
});

after(async () => {
  if (skip) return;
  console.log(`web-platform-tests: ${count.passed} pass, ${count.echo} that echo fail, ${count.others} others fail`);
  const rows = [...failing].sort(([a], [b]) => a.localeCompare(b)).map(([row, times]) => `| ${row} | ${times} |`);
  const { bare: without, both } = count;
  const summary = `Of ${without} subtests that pass without the extension, ${both} pass with it, sealed. The others:`;
  const heads = ["| why | subtest, without the name of its sensor | times |", "|---|---|---|"];
  table("wpt", [summary, "", ...heads, ...rows]);
  await stage.device.close();
  await bare.device.close();
  site.server.closeAllConnections();
  site.server.close();
});

for (const file of skip ? [] : files()) {
  test(`web-platform-tests: ${file}`, { skip, timeout: 180_000 }, async () => {
    await stage.device.browser.send("Browser.resetPermissions"); // a file before it may have allowed a sensor
    const results = await run(stage, file);
    const without = new Map((await run(bare, file))?.map(({ name, status }) => [name, status]));
    assert.ok(results?.length, "the file did not end, or holds no test");
    const surprising: string[] = [];
    for (const { name, status, message } of results) {
      const passed = status === 0;
      if (without.get(name) === 0) {
        count.bare += 1;
        const short = name
          .replace(/^[A-Z]\w+(: |\.)/, "")
          .replaceAll("|", "\\|")
          .replaceAll("\n", " ");
        const row = `${reason(name)} | ${short}`;
        if (passed) count.both += 1;
        else failing.set(row, (failing.get(row) ?? 0) + 1);
      }
      if (passed) count.passed += 1;
      else if (wanted(name) === "fail") count.echo += 1;
      else count.others += 1;
      const lost = wanted(name) === "pass" && !passed && without.get(name) === 0;
      if (lost || (wanted(name) === "fail" && passed)) surprising.push(`${name}: ${message}`);
    }
    assert.deepEqual(surprising, []);
  });
}
test("web-platform-tests are there", { skip }, () => assert.ok(files().length > 30));
