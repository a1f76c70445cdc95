// The service worker: opens the offscreen document when a page reads, tracks the seal, and lifts the header from sealed
// sites.
import { exempt } from "./header";
import type { Delegated, FromWorker, ToWorker } from "./messages";
import { NO_REPORTS, type Reports, allowed, ofOpenSites, sealed, withSiteReport } from "./seal";
import { DEFAULTS, isOff, siteOf } from "./settings";
import { get, put } from "./store";

const OFFSCREEN = "offscreen.html";

let opening: Promise<void> | null = null;

/** Opens one document for all requests that come at once. */
async function wake(): Promise<void> {
  if (await chrome.offscreen.hasDocument()) return;
  const reasons = [chrome.offscreen.Reason.WORKERS];
  const justification = "Motion readings are released here, so that pages never get raw ones.";
  opening ??= chrome.offscreen
    .createDocument({ url: OFFSCREEN, reasons, justification })
    .finally(() => (opening = null));
  await opening;
}

async function ownState(): Promise<PermissionState> {
  return (await navigator.permissions.query({ name: "accelerometer" as PermissionName })).state;
}

async function openSites(): Promise<Set<string>> {
  const tabs = await chrome.tabs.query({ discarded: false });
  return new Set(tabs.flatMap(({ url }) => (url ? [new URL(url).origin] : [])));
}

/** Updates run one at a time, so that two reports that arrive together do not undo each other. */
let last: Promise<Reports> = Promise.resolve(NO_REPORTS);

function update(change: (reports: Reports) => Reports): Promise<Reports> {
  last = last
    .catch(() => NO_REPORTS)
    .then(async () => {
      const before = (await get("reports")) ?? NO_REPORTS;
      const after = ofOpenSites(change({ ...before, own: await ownState() }), await openSites());
      await put("reports", after);
      await apply(after);
      return after;
    });
  return last;
}

let applied = "";

/** Lifts the header only from open sites that report that the browser itself denies them motion. */
async function apply(reports: Reports): Promise<void> {
  const state = JSON.stringify(reports);
  if (state === applied) return;
  const removeRuleIds = (await chrome.declarativeNetRequest.getSessionRules()).map(({ id }) => id);
  const addRules = sealed(reports).map((origin, index) => exempt(origin, index + 1));
  await chrome.declarativeNetRequest.updateSessionRules({ removeRuleIds, addRules });
  await chrome.action.setBadgeText({ text: reports.own === "granted" && !allowed(reports).length ? "" : "!" });
  applied = state;
}

chrome.runtime.onMessage.addListener((message: ToWorker, sender, reply: (answer?: FromWorker) => void) => {
  if (message.kind === "delegated") {
    if (sender.tab?.id !== undefined) void chrome.tabs.sendMessage(sender.tab.id, message).catch(() => {});
    return reply();
  }
  void answer(message, sender).then(reply);
  return true;
});

async function answer(
  message: Exclude<ToWorker, Delegated>,
  sender: chrome.runtime.MessageSender,
): Promise<FromWorker> {
  const settings = { ...DEFAULTS, ...(await get("settings")) };
  const off = isOff(settings, siteOf(sender));
  if (message.kind === "wake" && !off) await wake();
  return { reports: await reportsAfter(message, sender), off, tell: settings.tell };
}

async function reportsAfter(message: ToWorker, sender: chrome.runtime.MessageSender): Promise<Reports> {
  const origin = sender.tab && sender.frameId === 0 ? sender.origin : undefined;
  if (message.kind === "report" && origin && origin !== "null") {
    return update((reports) => withSiteReport(reports, origin, message.state));
  }
  return message.kind === "recheck" ? update((reports) => reports) : ((await get("reports")) ?? NO_REPORTS);
}

// Reports from before the browser's start no longer hold.
function begin(): void {
  void update(() => NO_REPORTS);
  void wake(); // detects sensors, then closes
}
chrome.runtime.onStartup.addListener(begin);
chrome.runtime.onInstalled.addListener(({ reason }) => {
  begin();
  if (reason === "install") void chrome.tabs.create({ url: "guide.html" }); // sealing comes first
});
chrome.tabs.onRemoved.addListener(() => void update((reports) => reports));
chrome.tabs.onUpdated.addListener((_, { url, discarded }) => {
  if (url !== undefined || discarded) void update((reports) => reports);
});
