// The page that guides a person through sealing; it makes claims about open sites only.
import type { FromWorker } from "./messages";
import { type Reports, allowed, sealed } from "./seal";

const PLACES: { [id: string]: string } = {
  block: "chrome://settings/content/sensors",
  allow: `chrome://settings/content/siteDetails?site=${encodeURIComponent(`chrome-extension://${chrome.runtime.id}`)}`,
};

function element(id: string): HTMLElement {
  return document.getElementById(id)!;
}

async function show(): Promise<void> {
  const { reports } = await chrome.runtime.sendMessage<object, FromWorker>({ kind: "recheck" });
  const [exposed, seen] = [allowed(reports), reports.sites.length > 0];
  const own = reports.own === "granted" ? "done" : "not yet";
  element("blocked").textContent = !seen ? "open or reload a site to see" : exposed.length ? "not yet" : "done";
  element("granted").textContent = !seen || exposed.length ? "after step 1" : own;
  const [state, text] = verdict(reports);
  element("verdict").textContent = text;
  element("verdict").dataset.state = state;
}

/** A single site may have been blocked individually, so it proves nothing about the others. */
function verdict(reports: Reports): [state: string, text: string] {
  const [closed, exposed] = [sealed(reports), allowed(reports)];
  if (exposed.length) return ["partial", `Partial: the browser still gives motion to ${exposed.join(", ")}.`];
  if (!closed.length) return ["partial", "Partial: raw motion can still reach some pages."];
  if (closed.length === 1) {
    const text = `The browser keeps raw motion from ${closed[0]}. Open another site to see whether it does so for all.`;
    return ["unknown", text];
  }
  const text = `Sealed: the browser keeps raw motion from ${closed.join(", ")}.`;
  return ["sealed", `${text} Other sites are checked when you open them.`];
}

for (const [id, url] of Object.entries(PLACES)) {
  element(id).addEventListener("click", () => void chrome.tabs.create({ url }));
}
element("id").textContent = `chrome-extension://${chrome.runtime.id}`;
element("policy").textContent = JSON.stringify(
  { DefaultSensorsSetting: 2, SensorsAllowedForUrls: [`chrome-extension://${chrome.runtime.id}`] },
  null,
  1,
);
setInterval(() => void show(), 2000);
void show();
