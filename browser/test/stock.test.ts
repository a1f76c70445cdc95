// Faults found in an unmodified Chromium without experimental features; each has a test.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { type Page, findChromium, pause } from "./chromium";
import { Device, ID, SEALED, exported, read, serve } from "./harness";
import { bundleOf } from "../../device/test/vectors";

const skip = findChromium() ? false : "Chromium is missing: install chromium";
const LISTENING = skip ? "" : `<!doctype html><script>${read("test/pages/listening.js")}</script>`;
const READ = "motion.filter((each) => each.g?.[0] != null).length";
const still = () => [0.5, 1, 9.8];
interface Headers {
  [name: string]: string | string[];
}

/** By name: a site's headers, and whether they allow it motion. */
const POLICIES: { [name: string]: [Headers, boolean] } = {
  none: [{}, true],
  self: [
    { "Permissions-Policy": "accelerometer=(self), gyroscope=(self), camera=(), microphone=(), geolocation=()" },
    true,
  ],
  all: [{ "Permissions-Policy": "accelerometer=*, gyroscope=*, camera=(), microphone=(), geolocation=()" }, true],
  lines: [{ "Permissions-Policy": ["camera=()", "microphone=(), geolocation=()"] }, true],
  older: [
    { "Feature-Policy": "accelerometer *; gyroscope 'self'; camera 'none'; microphone 'none'; geolocation 'none'" },
    true,
  ],
  denies: [{ "Permissions-Policy": "accelerometer=(), gyroscope=(), camera=(), microphone=(), geolocation=()" }, false],
  others: [
    { "Permissions-Policy": 'accelerometer=("https://a.example"), gyroscope=("https://a.example"), camera=()' },
    false,
  ],
  olderDenies: [{ "Feature-Policy": "accelerometer 'none'; gyroscope 'none'; camera 'none'" }, false],
  broken: [{ "Permissions-Policy": "accelerometer=*, broken((" }, false], // cannot be parsed
};
const WORKER = `onfetch = (e) => { if (e.request.url.includes("/worked"))
  e.respondWith(new Response(${JSON.stringify(LISTENING)}, { headers: { "content-type": "text/html" } })); };
  oninstall = () => skipWaiting(); onactivate = (e) => e.waitUntil(clients.claim());`;

/** Opening its document removes every listener of its window; then it answers for our script. */
const ANSWERS = `<!doctype html><body><script>window.asked = 0;
  setTimeout(() => {
    document.open();
    document.write("<body>");
    document.close();
    addEventListener("message", ({ data, ports: [port] }) => {
      asked++;
      port?.postMessage(["accelerometer", "gyroscope", "magnetometer"]);
      top.postMessage(data, "*", port ? [port] : []);
    }, true);
    const frame = document.createElement("iframe");
    frame.allow = "accelerometer; gyroscope";
    frame.src = "/none";
    document.body.append(frame);
  }, 300);</script>`;

async function sites() {
  return serve((path) => {
    const [headers] = POLICIES[path.slice(1)] ?? [{}];
    if (path === "/204") return { text: "", headers: {}, status: 204 };
    if (path === "/sw.js") return WORKER;
    if (path === "/answers") return ANSWERS;
    return { text: path === "/empty" ? "<!doctype html><p>" : LISTENING, headers };
  });
}

let site: Awaited<ReturnType<typeof serve>>;
let other: Awaited<ReturnType<typeof serve>>;
let device: Device | null = null;

before(async () => {
  if (!skip) [site, other] = [await sites(), await sites()];
});
after(() => {
  for (const each of skip ? [] : [site, other]) {
    each.server.closeAllConnections();
    each.server.close();
  }
});
afterEach(async () => {
  await device?.close();
  device = null;
});

async function shown(on: Device, address: string): Promise<Page> {
  const page = await on.browser.open(address);
  await page.send("Page.bringToFront");
  return page;
}

/** The browser's own answer, from a world without the page's functions. */
async function allows(page: Page, name: string): Promise<boolean> {
  const { frameTree } = await page.send("Page.getFrameTree");
  const { executionContextId: contextId } = await page.send("Page.createIsolatedWorld", {
    frameId: frameTree.frame.id,
  });
  return (
    await page.send("Runtime.evaluate", { expression: `document.featurePolicy.allowsFeature("${name}")`, contextId })
  ).result.value;
}

async function spent(on: Device): Promise<number> {
  const charges = await on.kept<{ minutes: number[][]; before: { draws: number } }>("charges");
  return charges ? charges.minutes.reduce((sum, [, draws]) => sum + draws!, charges.before.draws) : 0;
}

test(
  "partial: motion is denied under every header, and a site's own policy for camera, microphone and geolocation stays",
  { skip, timeout: 120_000 },
  async () => {
    device = await Device.start({});
    const bare = await Device.bare();
    for (const name of Object.keys(POLICIES)) {
      const page = await shown(device, `${site.origin}/${name}`);
      const plain = await bare.browser.open(`${site.origin}/${name}`);
      for (const feature of ["accelerometer", "gyroscope", "magnetometer"])
        assert.equal(await allows(page, feature), false, `${name}: ${feature}`);
      for (const feature of ["camera", "microphone", "geolocation"])
        assert.equal(await allows(page, feature), await allows(plain, feature), `${name}: ${feature}`);
      await page.close();
    }
    await bare.close();
  },
);

test(
  "partial: a page gets motion unless it denies that to itself; then it gets none, is refused, and spends nothing",
  { skip, timeout: 300_000 },
  async () => {
    device = await Device.start({});
    for (const name of Object.keys(POLICIES).filter((each) => !POLICIES[each]![1])) {
      const page = await shown(device, `${site.origin}/${name}`);
      await device.play(1500, still);
      assert.equal(await page.evaluate("motion.length + orientations.length"), 0, name);
      assert.equal(
        await page.evaluate(`(() => { try { new Accelerometer(); } catch (error) { return error.name; } })()`),
        "SecurityError",
        name,
      );
      await page.close();
    }
    assert.deepEqual([await spent(device), await device.reads()], [0, false]);
    for (const name of Object.keys(POLICIES).filter((each) => POLICIES[each]![1])) {
      const page = await shown(device, `${site.origin}/${name}`);
      await page.evaluate(`sense("Accelerometer"); 1`);
      assert.ok(await device.playUntil(page, `${READ} > 10 && sensing.Accelerometer.seen.length > 3`, still), name);
      await page.close();
    }
    assert.ok((await spent(device)) > 0);
  },
);

for (const [name, preferences] of Object.entries({ partial: {}, sealed: SEALED })) {
  test(`${name}: a page that reads motion has nothing in its console`, { skip, timeout: 120_000 }, async () => {
    device = await Device.start(preferences);
    const said: string[] = [];
    device.browser.on("Log.entryAdded", ({ entry }) => said.push(entry.text));
    device.browser.on("Runtime.consoleAPICalled", ({ args }) => said.push(JSON.stringify(args)));
    const page = await device.browser.open(`${site.origin}/none`, async (opened) => {
      await opened.send("Log.enable");
      await opened.send("Runtime.enable");
    });
    await page.send("Page.bringToFront");
    await page.evaluate(`sense("Accelerometer"); sense("AbsoluteOrientationSensor"); 1`);
    assert.ok(await device.playUntil(page, `${READ} > 10`, still));
    assert.deepEqual(said, []);
  });
}

for (const [name, preferences] of Object.entries({ partial: {}, sealed: SEALED })) {
  test(
    `${name}: a frame of another origin reads what its page delegates to it, from the first page on, and nothing else`,
    { skip, timeout: 200_000 },
    async () => {
      device = await Device.start(preferences);
      const page = await shown(device, `${site.origin}/empty`);
      const framed = async (allow: string) => {
        const known = new Set(
          (await device!.browser.send("Target.getTargets", { filter: [{ type: "iframe" }] })).targetInfos.map(
            ({ targetId }: { targetId: string }) => targetId,
          ),
        );
        await page.evaluate(`new Promise((done) => { const f = document.createElement("iframe");
        f.allow = "${allow}"; f.src = "http://127.0.0.1:${site.port}/none";
        f.onload = () => { f.focus(); done(1); }; document.body.append(f); })`);
        const found = (
          await device!.browser.send("Target.getTargets", { filter: [{ type: "iframe" }] })
        ).targetInfos.find(({ targetId }: { targetId: string }) => !known.has(targetId));
        return device!.browser.attach(found.targetId);
      };
      const sense = (kind: string) =>
        `(() => { try { sense("${kind}"); return "made"; } catch (error) { return error.name; } })()`;
      const denied = await framed("");
      await pause(300); // the answer of the page around it
      assert.equal(await denied.evaluate(sense("Accelerometer")), "SecurityError");
      const allowed = await framed("accelerometer; gyroscope");
      await pause(300);
      for (const kind of ["Accelerometer", "Gyroscope", "RelativeOrientationSensor"])
        assert.equal(await allowed.evaluate(sense(kind)), "made", kind);
      assert.equal(
        await allowed.evaluate(sense("AbsoluteOrientationSensor")),
        "SecurityError",
        "a magnetometer was not delegated",
      );
      assert.ok(
        await device.playUntil(allowed, `${READ} > 10 && sensing.Accelerometer.seen.length > 3`, still, 30_000),
      );
      assert.equal(await denied.evaluate("motion.length + orientations.length"), 0);
    },
  );

  test(`${name}: a frame to which nothing is delegated cannot delegate`, { skip, timeout: 120_000 }, async () => {
    device = await Device.start(preferences);
    const page = await shown(device, `${site.origin}/empty`);
    await page.evaluate(`document.body.append(Object.assign(document.createElement("iframe"),
      { src: "http://127.0.0.1:${site.port}/answers" })); 1`);
    const { targetId } = await device.browser.target(({ type, url }) => type === "iframe" && url.endsWith("/answers"));
    const frame = await device.browser.attach(targetId);
    assert.ok(await device.playUntil(frame, "window.asked > 0 && frames[0]?.log", still, 30_000), "it was asked");
    await device.play(2000, still);
    assert.equal(await frame.evaluate("frames[0].motion.length + frames[0].orientations.length"), 0);
  });

  test(`${name}: a frame of the same origin makes the sensors that it would make without us`, { skip }, async () => {
    device = await Device.start(preferences);
    const asked = `(async () => {
      const made = {};
      const others = ["gyroscope *", "gyroscope https://a.example"];
      const allows = ["", "gyroscope 'none'", "accelerometer 'none'; gyroscope", ...others];
      for (const allow of allows) for (const kind of ["blank", "page", "text"]) {
        const frame = document.createElement("iframe");
        Object.assign(frame, { allow }, kind === "page" ? { src: "/empty" } : kind === "text" ? { srcdoc: "<p>" } : {});
        const loaded = new Promise((done) => (frame.onload = done));
        document.body.append(frame);
        await loaded;
        made[kind + " " + allow] = ["Accelerometer", "Gyroscope"].map((name) => {
          try { return new frame.contentWindow[name]() && "made"; } catch (error) { return error.name; }
        });
      }
      return made;
    })()`;
    const bare = await Device.bare();
    const expected = await (await bare.browser.open(`${site.origin}/empty`)).evaluate(asked);
    assert.deepEqual(await (await shown(device, `${site.origin}/empty`)).evaluate(asked), expected);
    await bare.close();
  });

  test(`${name}: document.featurePolicy gives a page its own policy`, { skip, timeout: 120_000 }, async () => {
    device = await Device.start(preferences);
    const asked = `["allowsFeature", "getAllowlistForFeature"].map((how) => {
        const names = ["accelerometer", "gyroscope", "magnetometer", "camera"];
        return names.map((each) => String(document.featurePolicy[how](each)));
      }).concat([document.featurePolicy.allowedFeatures().filter((each) => /meter|gyro/.test(each)).sort()])`;
    const bare = await Device.bare();
    for (const path of ["none", "denies"]) {
      const expected = await (await bare.browser.open(`${site.origin}/${path}`)).evaluate(asked);
      assert.deepEqual(await (await shown(device, `${site.origin}/${path}`)).evaluate(asked), expected, path);
    }
    await bare.close();
  });
}

async function guideSays(on: Device): Promise<string> {
  const guide = await on.browser.open(`chrome-extension://${ID}/guide.html`);
  while (!(await guide.evaluate(`document.getElementById("verdict").textContent`))) await pause(50);
  const said = await guide.evaluate<string>(`document.getElementById("verdict").textContent`);
  await guide.close();
  return said;
}

test(
  "with one site blocked by hand and the default on Allow, no other site is called sealed or leaves the header",
  { skip, timeout: 120_000 },
  async () => {
    const blocked = {
      profile: { content_settings: { exceptions: { sensors: { [`${site.origin},*`]: { setting: 2 } } } } },
    };
    device = await Device.start(blocked);
    await device.learnSeal(`${site.origin}/empty`);
    const said = await guideSays(device);
    assert.doesNotMatch(said, /Sealed/);
    assert.match(said, new RegExp(site.origin), "it speaks of that site");
    const page = await shown(device, `${other.origin}/empty`);
    assert.equal(await allows(page, "accelerometer"), false, "a site that was not seen yet");
    assert.match(await guideSays(device), new RegExp(`Partial: .*${other.origin}`));
  },
);

test(
  "sealed: the header is lifted from a site that is open and says that it is denied, and from no other origin",
  { skip, timeout: 120_000 },
  async () => {
    device = await Device.start(SEALED);
    const first = await device.learnSeal(`${site.origin}/empty`);
    assert.equal(await allows(first, "accelerometer"), false, "before it had said so");
    const again = await shown(device, `${site.origin}/empty`);
    assert.equal(await allows(again, "accelerometer"), true, "the browser's own setting keeps motion from it");
    for (const origin of [other.origin, `http://127.0.0.1:${site.port}`]) {
      assert.equal(await allows(await shown(device, `${origin}/empty`), "accelerometer"), false, origin);
    }
    assert.match(await guideSays(device), /^Sealed: /);
  },
);

test(
  "a setting that is changed back while no page is open is not believed in",
  { skip, timeout: 120_000 },
  async () => {
    device = await Device.start(SEALED);
    const first = await device.learnSeal(`${site.origin}/empty`);
    await first.close();
    while ((await device.recheck()).reports.sites.length) await pause(50);
    await device.browser.send("Browser.grantPermissions", { permissions: ["sensors"] });
    const page = await shown(device, `${site.origin}/none`);
    assert.equal(await allows(page, "accelerometer"), false);
    while (!(await device.recheck()).reports.sites.length) await pause(50);
    assert.match(await guideSays(device), new RegExp(`Partial: .*${site.origin}`));
  },
);

test("partial: a pop-up that has not loaded reads nothing raw", { skip, timeout: 120_000 }, async () => {
  device = await Device.start({}, undefined, ["--disable-popup-blocking"]);
  await device.fitAll("page");
  const page = await shown(device, `${site.origin}/empty`);
  const tried = `(() => { const w = window.w = open("/204"); window.raw = 0;
    w.addEventListener("devicemotion", (e) => raw++);
    w.document.open(); w.document.write("<body ondevicemotion='opener.raw++'>"); w.document.close();
    const names = ["Accelerometer", "LinearAccelerationSensor", "Gyroscope", "RelativeOrientationSensor"];
    for (const Kind of names.map((name) => w[name]).concat(Object.getPrototypeOf(w.GravitySensor))) try {
      const sensor = new Kind();
      sensor.addEventListener("reading", () => Math.abs(sensor.x) > 50 && raw++);
      sensor.start(); } catch {} })()`;
  await page.evaluate(tried);
  const popup = [...device.fitted].find(({ target }) => target !== page.target)!;
  await popup.send("Page.bringToFront");
  await device.play(1500, (at) => [55 * Math.sign(Math.sin(at / 50)), 1, 9.8]);
  assert.equal(await page.evaluate("raw"), 0);
});

test(
  "partial: a page that changes what every object and function has sees no event of the browser's own",
  { skip, timeout: 120_000 },
  async () => {
    device = await Device.start({});
    await device.fitAll("page");
    const page = await shown(device, `${site.origin}/empty`);
    await page.evaluate(
      `navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready).then(() => 1)`,
    );
    await page.go(`${site.origin}/worked`); // no header: here the browser itself would give raw motion
    assert.equal(await allows(page, "accelerometer"), true);
    await page.evaluate(`(() => {
    window.raw = []; const native = [];
    const isRaw = (each) => each instanceof Event && each.isTrusted && /^device/.test(each.type);
    const see = (how, ...values) => values.forEach((each) => isRaw(each) && raw.push(how));
    const isNative = (value) => typeof value === "function" && /native code/.test(String(value));
    const keep = (value) => isNative(value) && native.push(value);
    Object.prototype.intercept = (event) => see("intercept", event);
    Object.prototype.get = (target, name) => { keep(target); return target[name]; };
    const { call, apply, bind } = Function.prototype, { apply: reflected } = Reflect;
    Function.prototype.call = function (...args) {
      keep(this); see("call", ...args); return reflected(this, args[0], args.slice(1)); };
    Reflect.apply = (f, self, args) => { keep(f); see("apply", self, ...args); return reflected(f, self, args); };
    const find = Array.prototype.find; Array.prototype.find = function () { return undefined; };
    addEventListener("devicemotion", (event) => see("listener", event));
    let asked = 0; const type = { toString: () => (asked++ ? "devicemotion" : "load") };
    addEventListener(type, (event) => see("name", event), true);
    EventTarget.prototype.addEventListener.name;
    delete Object.prototype.get; Array.prototype.find = find;
    for (const each of native) try {
      reflected(each, window, ["devicemotion", (event) => see("native", event)]); } catch {}
    return 1; })()`);
    await device.play(2500, (at) => [5 * Math.sin(at / 50), 1, 9.8]);
    assert.deepEqual(await page.evaluate("[...new Set(raw)]"), []);
    assert.ok((await page.evaluate<number>(READ)) > 0, "it gets released motion");
  },
);

test("observables give released motion until their subscriptions end", { skip, timeout: 120_000 }, async () => {
  device = await Device.start(SEALED);
  const page = await shown(device, `${site.origin}/empty`);
  await page.evaluate(`window.ending = new AbortController(); window.trusted = [];
    when("devicemotion").subscribe((event) => trusted.push(event.isTrusted), { signal: ending.signal }); 1`);
  assert.ok(await device.playUntil(page, "trusted.length > 10", still));
  assert.ok(!(await page.evaluate("trusted.includes(true)")));
  await page.evaluate("ending.abort()");
  for (const end = Date.now() + 20_000; Date.now() < end && (await device.reads());) await pause(100);
  assert.equal(await device.reads(), false);
});

test(
  "a sensor that no policy covers says so, and does not keep a page waiting",
  { skip, timeout: 120_000 },
  async () => {
    device = await Device.start(SEALED, undefined, ["--enable-experimental-web-platform-features"]); // which it needs
    await device.learnSeal(`${site.origin}/empty`); // without the header it can be made
    const page = await shown(device, `${site.origin}/none`);
    await page.evaluate(`sense("Magnetometer"); 1`);
    assert.ok(await device.playUntil(page, "log.length", still, 10_000));
    assert.deepEqual(await page.evaluate("log"), ["Magnetometer NotAllowedError"]);
  },
);

test("the questions of one page about permission delay no other page", { skip, timeout: 120_000 }, async () => {
  device = await Device.start(SEALED);
  const flooding = await shown(device, `${site.origin}/empty`);
  const asking = `new Promise((done) => {
    addEventListener("deeprotect-port", ({ ports: [port] }) => done(window.port = port), { once: true });
    dispatchEvent(new Event("deeprotect-ready")); }).then(() => 1)`;
  await flooding.evaluate(asking);
  await flooding.evaluate(`(() => { let id = 1000; setInterval(() => { for (let at = 0; at < 50; at += 1) {
    port.postMessage({ kind: "permission", id: id++ });
    port.postMessage({ kind: "listen", on: id % 2 === 0 }); } }, 20); })()`);
  await pause(2000);
  const quiet = await device.browser.open(`${other.origin}/empty`);
  const took = await quiet.evaluate<number>(`(async () => { const start = performance.now();
    for (let at = 0; at < 5; at += 1) await navigator.permissions.query({ name: "accelerometer" });
    return performance.now() - start; })()`);
  assert.ok(took < 2000, `five questions took ${took} ms`);
});

test("the extension reads sensors while a page does, and not before or after", { skip, timeout: 120_000 }, async () => {
  device = await Device.start(SEALED);
  const quiet = await shown(device, `${site.origin}/empty`);
  assert.equal(
    await quiet.evaluate(`navigator.permissions.query({ name: "accelerometer" }).then(({ state }) => state)`),
    "granted",
  );
  for (const end = Date.now() + 20_000; Date.now() < end && (await device.reads());) await pause(100);
  assert.equal(
    await quiet.evaluate(`navigator.permissions.query({ name: "gyroscope" }).then(({ state }) => state)`),
    "granted",
  );
  await device.play(500, still);
  assert.equal(await device.reads(), false, "to ask is not to read");
  const page = await shown(device, `${site.origin}/none`);
  assert.ok(await device.playUntil(page, `${READ} > 10`, still));
  assert.equal(await device.reads(), true);
  await page.close();
  for (const end = Date.now() + 20_000; Date.now() < end && (await device.reads());) await pause(100);
  assert.equal(await device.reads(), false);
});

for (const kind of ["channel ldp", "channel held"]) {
  test(
    `${kind}: the popup fits into the 600 pixels that Chromium gives it, whatever it has to say`,
    { skip, timeout: 120_000 },
    async () => {
      device = await Device.start({}, exported(bundleOf(kind)));
      await device.learnSeal(`${site.origin}/empty`);
      const popup = await device.browser.open(
        `chrome-extension://${ID}/popup.html?site=${encodeURIComponent(site.origin)}`,
      );
      while (!(await popup.evaluate(`document.getElementById("seal")?.dataset.shown`))) await pause(20);
      await popup.evaluate(`(() => { const $ = (id) => document.getElementById(id);
        $("bar").hidden = false; $("state").textContent = "gets protected motion";
        $("left").textContent = "12 h 34 min read in the last day, 11 h 26 min left";
        $("may").textContent = "“exercise”, “steps”, “posture of the body”"; })()`);
      await popup.send("Emulation.setDeviceMetricsOverride", {
        width: 360,
        height: 600,
        deviceScaleFactor: 1,
        mobile: false,
      });
      const { data } = await popup.send("Page.captureScreenshot", { format: "png" });
      if (process.env.PICTURES)
        (await import("node:fs")).writeFileSync(
          `${process.env.PICTURES}/popup ${kind}.png`,
          Buffer.from(data, "base64"),
        );
      const height = await popup.evaluate<number>("document.querySelector('main').getBoundingClientRect().height");
      assert.ok(height <= 600, `${height} pixels`);
    },
  );
}
