// Runs files of web-platform-tests as they are; only the two hooks that the suite leaves to vendors are replaced.
import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { Message, Page } from "./chromium";
import type { Device, Site } from "./harness";

export const ROOT = process.env.WPT ?? "../../shared/wpt";
const VENDOR = `(() => {
  const internal = window.test_driver_internal;
  const call = (...args) => new Promise((resolve, reject) => {
    const id = (window.__calls ??= []).push([resolve, reject]) - 1;
    window.__call(JSON.stringify([id, ...args]));
  });
  internal.in_automation = true;
  internal.bidi = internal.bidi || {};
  internal.create_virtual_sensor = (sensor, params) => call("create", sensor, params || {});
  internal.update_virtual_sensor = (sensor, reading) => call("update", sensor, reading);
  internal.remove_virtual_sensor = (sensor) => call("remove", sensor);
  internal.get_virtual_sensor_information = (sensor) => call("info", sensor);
  internal.set_permission = ({ descriptor, state }) => call("permission", descriptor, state);
  internal.bidi.permissions = { set_permission: ({ descriptor, state }) => call("permission", descriptor, state) };
  internal.click = (element, at) => call("click", at && { x: at.x, y: at.y });
  internal.minimize_window = () => call("minimize");
  internal.set_window_rect = () => call("restore");
  internal.set_test_context = () => {};
})();`;
const REPORT = `add_completion_callback((tests, harness) => window.__done(JSON.stringify({
  status: harness.status, tests: tests.map(({ name, status, message }) => ({ name, status, message })) })));
setup({ output: false, timeout_multiplier: 4 });`;
const TYPES: { [extension: string]: string } = { ".js": "text/javascript", ".html": "text/html", ".idl": "text/plain" };

export interface Subtest {
  readonly name: string;
  readonly status: number;
  readonly message: string | null;
}

/** Serves the suite; its templates get this server's host names. */
export function suite(port: () => number): Site {
  return (path) => {
    if (path === "/resources/testdriver-vendor.js") return script(VENDOR);
    if (path === "/resources/testharnessreport.js") return script(REPORT);
    if (path.endsWith(".window.html")) return wrapped(path.replace(".window.html", ".window.js"));
    const file = join(
      ROOT,
      path === "/resources/WebIDLParser.js" ? "/resources/webidl2/lib/webidl2.js" : decodeURIComponent(path),
    );
    if (!existsSync(file)) return null;
    const text = readFileSync(file, "utf8");
    const headers: { [name: string]: string } = {
      "content-type": TYPES[extname(file)] ?? "text/plain",
      ...headersOf(file),
    };
    return { text: path.includes(".sub.") ? filled(text, port()) : text, headers };
  };
}

function script(text: string) {
  return { text, headers: { "content-type": "text/javascript" } };
}

function wrapped(path: string): string {
  const metas = [...readFileSync(join(ROOT, path), "utf8").matchAll(/\/\/ META: script=(.*)/g)].map(([, src]) => src!);
  const sources = ["/resources/testharness.js", "/resources/testharnessreport.js", ...metas, path];
  return `<!doctype html><meta charset=utf-8>${sources.map((src) => `<script src="${src}"></script>`).join("")}`;
}

function headersOf(file: string): { [name: string]: string } {
  if (!existsSync(`${file}.headers`)) return {};
  const lines = readFileSync(`${file}.headers`, "utf8")
    .split("\n")
    .filter((line) => line.includes(":"));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
}

function filled(text: string, port: number): string {
  return text
    .replaceAll(
      /https?:\/\/\{\{(?:domains\[www1?\]|hosts\[\]\[www1?\])\}\}:\{\{ports\[https?\]\[\d\]\}\}/g,
      `http://127.0.0.1:${port}`,
    )
    .replaceAll(
      /https?:\/\/\{\{(?:host|domains\[\]|hosts\[\]\[\])\}\}:\{\{ports\[https?\]\[\d\]\}\}/g,
      `http://localhost:${port}`,
    )
    .replaceAll(/\{\{hosts\[\]\[www\]\}\}|\{\{domains\[www\]\}\}/g, "127.0.0.1")
    .replaceAll(/\{\{host\}\}|\{\{domains\[\]\}\}|\{\{hosts\[\]\[\]\}\}/g, "localhost")
    .replaceAll(/\{\{ports\[https?\]\[\d\]\}\}/g, String(port));
}

/** A browser for the suite, and how its permissions are set. */
export interface Stage {
  readonly device: Device;
  readonly origin: string;
  permit(page: Page, name: string, state: string): Promise<void>;
}

/** The subtests of one file; null if it timed out. */
export async function run(stage: Stage, file: string, milliseconds = 120_000): Promise<Subtest[] | null> {
  const page = await stage.device.browser.open("about:blank");
  let done: (text: string) => void;
  const finished = new Promise<string>((resolve) => (done = resolve));
  await page.send("Runtime.enable");
  for (const name of ["__call", "__done"]) await page.send("Runtime.addBinding", { name });
  page.browser.on("Runtime.bindingCalled", ({ name, payload, executionContextId }, session) => {
    if (session !== page.session) return;
    if (name === "__done") done(payload);
    else void answer(stage, page, payload, executionContextId);
  });
  await page.send("Page.bringToFront");
  await page.go(`${stage.origin}/${file}`);
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), milliseconds).unref());
  const result = await Promise.race([finished, late]);
  await page.close();
  return result === null ? null : (JSON.parse(result) as { tests: Subtest[] }).tests;
}

async function answer(stage: Stage, page: Page, payload: string, contextId: number): Promise<void> {
  const [id, what, ...args] = JSON.parse(payload) as [number, string, ...any[]];
  let reply: string;
  try {
    reply = `[0](${JSON.stringify((await act(stage, page, what, args)) ?? null)})`;
  } catch (error) {
    reply = `[1](new Error(${JSON.stringify(String(error))}))`;
  }
  await page.send("Runtime.evaluate", { expression: `__calls[${id}]${reply}`, contextId }).catch(() => {});
}

async function act(stage: Stage, page: Page, what: string, [first, second]: any[]): Promise<unknown> {
  if (what === "create") return create(stage, page, first, metadata(second));
  if (what === "remove") return remove(stage, page, first);
  if (what === "update") {
    for (const each of [page, ...stage.device.fitted]) await stage.device.sense(each, [[first, reading(second)]]);
    return null;
  }
  if (what === "info") return page.send("Emulation.getOverriddenSensorInformation", { type: first });
  if (what === "permission") return stage.permit(page, first.name, second);
  if (what === "click") return click(page, first ?? { x: 5, y: 5 });
  const { windowId } = await page.browser.send("Browser.getWindowForTarget", { targetId: page.target });
  const windowState = what === "minimize" ? "minimized" : "normal";
  await page.browser.send("Browser.setWindowBounds", { windowId, bounds: { windowState } });
  return { x: 0, y: 0, width: 800, height: 600 };
}

const lost = new Set<string>();

/** The offscreen document has all sensors; if a test disconnects one, it loses the accelerometer. */
async function create(stage: Stage, page: Page, type: string, metadata: Message): Promise<void> {
  await page.send("Emulation.setSensorOverrideEnabled", { enabled: true, type, metadata });
  if (metadata.available !== false) return;
  lost.add(type);
  stage.device.absent.add("accelerometer");
  for (const each of stage.device.fitted) await renew(each, "accelerometer", metadata);
}

async function remove(stage: Stage, page: Page, type: string): Promise<void> {
  await page.send("Emulation.setSensorOverrideEnabled", { enabled: false, type });
  if (!lost.delete(type)) return;
  stage.device.absent.delete("accelerometer");
  for (const each of stage.device.fitted) await renew(each, "accelerometer", {});
}

async function renew(page: Page, type: string, metadata: Message): Promise<void> {
  // Sent together: two tests that clean up at once must not come between.
  const off = page.send("Emulation.setSensorOverrideEnabled", { enabled: false, type });
  await Promise.all([off, page.send("Emulation.setSensorOverrideEnabled", { enabled: true, type, metadata })]);
  const still = type.endsWith("orientation")
    ? { quaternion: { x: 0, y: 0, z: 0, w: 1 } }
    : { xyz: { x: 0.1, y: 0.2, z: 9.8 } };
  await page.send("Emulation.setSensorOverrideReadings", { type, reading: still }).catch(() => {});
}

async function click(page: Page, { x, y }: { x: number; y: number }): Promise<void> {
  for (const type of ["mousePressed", "mouseReleased"]) {
    await page.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  }
}

function metadata(params: Message): Message {
  const found: Message = {};
  if ("connected" in params) found.available = params.connected;
  if ("maxSamplingFrequency" in params) found.maximumFrequency = params.maxSamplingFrequency;
  if ("minSamplingFrequency" in params) found.minimumFrequency = params.minSamplingFrequency;
  return found;
}

function reading(values: Message): Message {
  if ("alpha" in values) {
    const half = Math.PI / 360;
    const [z, x, y] = [values.alpha * half, values.beta * half, values.gamma * half];
    const [cx, sx, cy, sy, cz, sz] = [Math.cos(x), Math.sin(x), Math.cos(y), Math.sin(y), Math.cos(z), Math.sin(z)];
    const quaternion = {
      x: sx * cy * cz - cx * sy * sz,
      y: cx * sy * cz + sx * cy * sz,
      z: cx * cy * sz + sx * sy * cz,
      w: cx * cy * cz - sx * sy * sz,
    };
    return { quaternion };
  }
  if ("w" in values) return { quaternion: values };
  return "x" in values ? { xyz: values } : { single: { value: values.illuminance ?? values.value } };
}
