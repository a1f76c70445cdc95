// The page that guides a person through sealing; it says "sealed" only when the browser does.
import type { FromWorker } from "./messages";
import { isSealed, unsealed } from "./seal";

const PLACES: { [id: string]: string } = {
  block: "chrome://settings/content/sensors",
  allow: `chrome://settings/content/siteDetails?site=${encodeURIComponent(`chrome-extension://${chrome.runtime.id}`)}`,
};

function element(id: string): HTMLElement {
  return document.getElementById(id)!;
}

async function show(): Promise<void> {
  const { reports } = await chrome.runtime.sendMessage<object, FromWorker>({ kind: "recheck" });
  const open = unsealed(reports);
  const [sealed, blocked] = [isSealed(reports), reports.sites.some(([, state]) => state === "denied")];
  element("blocked").textContent = blocked ? "done" : reports.sites.length ? "not yet" : "open or reload any site to see";
  element("granted").textContent = !blocked ? "after step 1" : reports.own === "granted" ? "done" : "not yet";
  element("verdict").textContent = !sealed
    ? "Partial: raw motion can still reach some pages."
    : open.length
      ? `Sealed, but for sites that you allowed apart: ${open.join(", ")}. Remove them from the list of step 1.`
      : "Sealed: the browser keeps raw motion from all sites that were seen.";
  element("verdict").dataset["state"] = sealed && !open.length ? "sealed" : "partial";
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
