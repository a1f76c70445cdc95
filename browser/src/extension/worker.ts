// The service worker: keeps the offscreen document alive, knows the seal, and sets the header rule where it is needed.
import { FEATURES } from "./header";
import type { FromWorker, ToWorker } from "./messages";
import { NO_REPORTS, type Reports, isSealed, unsealed, withSiteReport } from "./seal";
import { DEFAULTS, isOff, siteOf } from "./settings";
import { get, put } from "./store";

const OFFSCREEN = "offscreen.html";
const RULES = "header";

let opening: Promise<void> | null = null;

/** Once, however many ask. */
async function wake(): Promise<void> {
  if (await chrome.offscreen.hasDocument()) return;
  const reasons = [chrome.offscreen.Reason.WORKERS];
  const justification = "Motion readings are released here, so that pages never get raw ones.";
  opening ??= chrome.offscreen.createDocument({ url: OFFSCREEN, reasons, justification }).finally(() => (opening = null));
  await opening;
}

async function ownState(): Promise<PermissionState> {
  return (await navigator.permissions.query({ name: "accelerometer" as PermissionName })).state;
}

/** One at a time: two reports that arrive together must not undo each other. */
let last: Promise<Reports> = Promise.resolve(NO_REPORTS);

function update(change: (reports: Reports) => Reports): Promise<Reports> {
  last = last.catch(() => NO_REPORTS).then(async () => {
    const before = (await get("reports")) ?? NO_REPORTS;
    const after = change({ ...before, own: await ownState() });
    await put("reports", after);
    await apply(after);
    return after;
  });
  return last;
}

let applied = "";

/** The header denies all sites until the setting does, and afterwards those that the person allowed apart. */
async function apply(reports: Reports): Promise<void> {
  const sealed = isSealed(reports);
  const state = JSON.stringify([sealed, unsealed(reports)]);
  if (state === applied) return;
  const sets = sealed ? { disableRulesetIds: [RULES] } : { enableRulesetIds: [RULES] };
  await chrome.declarativeNetRequest.updateEnabledRulesets(sets);
  const hosts = sealed ? unsealed(reports).map((origin) => new URL(origin).hostname).filter(Boolean) : [];
  const addRules = hosts.length ? [rule(hosts)] : [];
  await chrome.declarativeNetRequest.updateDynamicRules({ removeRuleIds: [1], addRules });
  await chrome.action.setBadgeText({ text: sealed && !hosts.length ? "" : "!" });
  applied = state;
}

function rule(requestDomains: string[]): chrome.declarativeNetRequest.Rule {
  const header = { header: "Permissions-Policy", operation: "set", value: FEATURES.map((name) => `${name}=()`).join(", ") };
  return {
    id: 1,
    action: { type: "modifyHeaders", responseHeaders: [header] },
    condition: { requestDomains, resourceTypes: ["main_frame", "sub_frame"] },
  } as unknown as chrome.declarativeNetRequest.Rule;
}

chrome.runtime.onMessage.addListener((message: ToWorker, sender, reply: (answer: FromWorker) => void) => {
  void answer(message, sender).then(async (reports) => reply({ reports, off: await isSwitchedOff(sender) }));
  return true;
});

async function answer(message: ToWorker, sender: chrome.runtime.MessageSender): Promise<Reports> {
  if (message.kind === "wake") await wake();
  const origin = sender.tab && sender.frameId === 0 ? sender.origin : undefined;
  if (message.kind === "report" && origin && origin !== "null") {
    return update((reports) => withSiteReport(reports, origin, message.state));
  }
  return message.kind === "recheck" ? update((reports) => reports) : ((await get("reports")) ?? NO_REPORTS);
}

async function isSwitchedOff(sender: chrome.runtime.MessageSender): Promise<boolean> {
  return isOff((await get("settings")) ?? DEFAULTS, siteOf(sender));
}

chrome.runtime.onInstalled.addListener(() => void update((reports) => reports));
chrome.runtime.onStartup.addListener(() => void update((reports) => reports));
void wake();
