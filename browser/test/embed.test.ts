// The script that a site embeds: later scripts of the page get released motion, and raw motion in no ordinary way.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findChromium } from "./chromium";
import { Device, embedded, read, serve } from "./harness";

const skip = findChromium() ? false : "Chromium is missing: install chromium";
const CANARY = 55.5; // larger than anything that can be released

test(
  "a page that embeds the script reads released motion in all ordinary ways",
  { skip, timeout: 180_000 },
  async () => {
    const page = `<!doctype html><script src="/deeprotect.js"></script><script>${read("test/pages/spy.js")}
    const seen = {}; spy(window, "page", (way, numbers) => (seen[way] ??= []).push(...numbers));
    ondevicemotion = (event) => (seen.handler ??= []).push(event.acceleration.x);</script>`;
    const site = await serve((path) => (path === "/deeprotect.js" ? embedded() : page));
    const device = await Device.bare();
    try {
      const tab = await device.browser.open(site.origin, (opened) => device.fit(opened));
      await tab.send("Page.bringToFront");
      const wanted = [
        "page/motion acceleration trusted=false",
        "page/orientation trusted=false",
        "page/Accelerometer",
        "page/GravitySensor",
        "handler",
      ];
      const enough = `${JSON.stringify(wanted)}.every((way) => seen[way]?.length > 20)`;
      const raw = (at: number) => [CANARY * Math.sign(Math.sin(at / 100)), 1, 9.8];
      assert.ok(await device.playUntil(tab, enough, raw), "released motion in every way");
      const seen = await tab.evaluate<{ [way: string]: number[] }>("seen");
      const leaks = Object.entries(seen).filter(
        ([way, numbers]) => !/orientation/i.test(way) && numbers.some((each) => Math.abs(each) > 50),
      );
      assert.deepEqual(leaks, []);
      assert.ok(
        Number(await tab.evaluate("JSON.parse(localStorage['deeprotect.charges']).minutes.length")) > 0,
        "draws are charged",
      );
    } finally {
      await device.close();
      site.server.closeAllConnections();
      site.server.close();
    }
  },
);

test(
  "two windows of a site that read at once share one draw a slot; if one is closed, the other goes on",
  { skip, timeout: 180_000 },
  async () => {
    const page = `<!doctype html><script src="/deeprotect.js"></script><script>window.read = [];
    addEventListener("devicemotion", ({ accelerationIncludingGravity: { x, y, z } }) =>
      read.push([x, y, z].join()));</script>`;
    const site = await serve((path) => (path === "/deeprotect.js" ? embedded() : page));
    const device = await Device.bare();
    try {
      const open = async () => {
        const { targetId } = await device.browser.send("Target.createTarget", { url: "about:blank", newWindow: true });
        const tab = await device.browser.attach(targetId);
        await device.fit(tab);
        await tab.go(site.origin);
        return tab;
      };
      const [one, two] = [await open(), await open()];
      const start = Date.now();
      assert.ok(await device.playUntil(one, "read.length > 60", (at) => [3 * Math.sin(at / 100), 1, 9.8]));
      assert.ok(await device.playUntil(two, "read.length > 60", (at) => [3 * Math.sin(at / 100), 1, 9.8]));
      assert.deepEqual(
        [await one.evaluate("document.visibilityState"), await two.evaluate("document.visibilityState")],
        ["visible", "visible"],
      );
      const draws = Number(
        await one.evaluate(
          "JSON.parse(localStorage['deeprotect.charges']).minutes.reduce((sum, [, each]) => sum + each, 0)",
        ),
      );
      assert.ok(draws <= (Date.now() - start) / 200 + 1, `${draws} draws`);
      await one.close(); // the other goes on
      const before = await two.evaluate<number>("read.length");
      assert.ok(
        await device.playUntil(two, `read.length > ${before + 30}`, (at) => [3 * Math.sin(at / 100), 1, 9.8], 30_000),
      );
    } finally {
      await device.close();
      site.server.closeAllConnections();
      site.server.close();
    }
  },
);
