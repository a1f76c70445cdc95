// The page that guides a person through sealing; it says of which sites it knows, and of no others.
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
  const [open, seen] = [allowed(reports), reports.sites.length > 0];
  element("blocked").textContent = !seen ? "open or reload a site to see" : open.length ? "not yet" : "done";
  element("granted").textContent = !seen || open.length ? "after step 1" : reports.own === "granted" ? "done" : "not yet";
  const [state, text] = verdict(reports);
  element("verdict").textContent = text;
  element("verdict").dataset["state"] = state;
}

/** One site alone may have been blocked apart; nothing is claimed of sites that are not open. */
function verdict(reports: Reports): [state: string, text: string] {
  const [kept, open] = [sealed(reports), allowed(reports)];
  if (open.length) return ["partial", `Partial: the browser still gives motion to ${open.join(", ")}.`];
  if (!kept.length) return ["partial", "Partial: raw motion can still reach some pages."];
  if (kept.length === 1) return ["unknown", `The browser keeps raw motion from ${kept[0]}. Open another site to see whether it does so for all.`];
  return ["sealed", `Sealed: the browser keeps raw motion from ${kept.join(", ")}. Other sites are checked when you open them.`];
}

for (const [id, url] of Object.entries(PLACES)) element(id).addEventListener("click", () => void chrome.tabs.create({ url }));
element("id").textContent = `chrome-extension://${chrome.runtime.id}`;
element("policy").textContent = JSON.stringify(
  { DefaultSensorsSetting: 2, SensorsAllowedForUrls: [`chrome-extension://${chrome.runtime.id}`] },
  null,
  1,
);
setInterval(() => void show(), 2000);
void show();
