// Follows the steps of docs/browser.md in Chromium's own settings pages, and takes a screenshot of each.
// node walk.mjs EXTENSION_FOLDER PICTURES_FOLDER
import { mkdirSync, writeFileSync } from "node:fs";
import { type Page, pause } from "../test/chromium";
import { Device, ID, serve } from "../test/harness";

const [, , folder, pictures] = process.argv as [string, string, string, string];
mkdirSync(pictures, { recursive: true });

/** Finds an element in shadow roots of any depth. */
const DEEP = `const deep = (fits, root = document) => { for (const each of root.querySelectorAll("*")) {
  if (fits(each)) return each; const found = each.shadowRoot && deep(fits, each.shadowRoot);
  if (found) return found; } return null; };`;

async function until<Value>(what: string, attempt: () => Promise<Value | null | undefined | false>): Promise<Value> {
  for (const end = Date.now() + 30_000; Date.now() < end; await pause(100)) {
    const found = await attempt().catch(() => null);
    if (found) return found;
  }
  throw new Error(`never: ${what}`);
}

async function picture(page: Page, name: string, width: number, scheme = "light"): Promise<void> {
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await page.send("Emulation.setDeviceMetricsOverride", { width, height: 100, deviceScaleFactor: 2, mobile: false });
  const height = await page.evaluate<number>("Math.max(document.documentElement.scrollHeight, 300)");
  await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 2, mobile: false });
  await pause(300);
  const { data } = await page.send("Page.captureScreenshot", { format: "png" });
  writeFileSync(`${pictures}/${name}.png`, Buffer.from(data, "base64"));
}

async function opened(device: Device, start: string): Promise<Page> {
  const { targetId } = await device.browser.target(({ url, type }) => type === "page" && url.startsWith(start));
  return device.browser.attach(targetId);
}

async function popup(device: Device, origin: string): Promise<{ page: Page; says: string }> {
  const page = await device.browser.open(`chrome-extension://${ID}/popup.html?site=${encodeURIComponent(origin)}`);
  await until("the popup", () => page.evaluate(`document.getElementById("seal")?.dataset.shown`));
  return { page, says: await page.evaluate<string>(`document.getElementById("seal").textContent`) };
}

async function verdict(guide: Page): Promise<string> {
  await pause(2500); // it looks again every two seconds
  return guide.evaluate<string>(
    `["blocked", "granted", "verdict"].map((id) => document.getElementById(id).textContent).join(" | ")`,
  );
}

const site = await serve(
  () => "<!doctype html><title>any site</title><script>addEventListener('devicemotion', () => {})</script><p>",
);
const device = await Device.start({}, folder);
const any = await device.browser.open(site.origin);
await pause(1000);
const first = await popup(device, site.origin);
console.log("2. the popup says", first.says);
await picture(first.page, "popup-partial", 340);
await first.page.evaluate(`document.getElementById("guide").click()`);
const guide = await opened(device, `chrome-extension://${ID}/guide.html`);
console.log("   the guide says", await verdict(guide));
await picture(guide, "guide-partial", 900);

await guide.evaluate(`document.getElementById("block").click()`);
const setting = await opened(device, "chrome://settings/content/sensors");
await until("the radio button", () =>
  setting.evaluate(
    `(() => { ${DEEP} const label = /^Don.t allow sites to use motion sensors/;
    const radio = deep((e) => /radio/.test(e.localName) && label.test((e.label ?? e.textContent).trim()));
    radio?.click(); return Boolean(radio); })()`,
  ),
);
await pause(500);
await picture(setting, "setting-block", 900);
console.log("3. the guide says", await verdict(guide));

await guide.evaluate(`document.getElementById("allow").click()`);
const details = await opened(device, "chrome://settings/content/siteDetails");
await until("the choice", () =>
  details.evaluate(`(() => { ${DEEP}
  const row = deep((e) => e.localName === "site-details-permission" && e.label === "Motion sensors");
  const choice = row?.site && row.offsetHeight && row.shadowRoot.querySelector("select");
  if (choice) { choice.value = "allow"; choice.dispatchEvent(new Event("change", { bubbles: true }));
    row.scrollIntoView({ block: "center" }); } return Boolean(choice); })()`),
);
await pause(1500);
await picture(details, "setting-allow", 900);
console.log("4. the guide says", await verdict(guide));

await any.go(site.origin);
await device.browser.open(site.origin.replace("localhost", "127.0.0.1"));
await pause(1000);
console.log("5. the guide says", await verdict(guide));
await picture(guide, "guide-sealed", 900);
const last = await popup(device, site.origin);
console.log("   the popup says", last.says);
await picture(last.page, "popup-sealed", 340);
await picture(last.page, "popup-sealed-dark", 340, "dark");
await device.browser.close();
site.server.closeAllConnections();
site.server.close();
