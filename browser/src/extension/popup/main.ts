// The popup: what this site may infer, its switch, the price, the budget, and whether the site is sealed.
import {
  type Bundle,
  NO_BUDGET,
  NO_CHARGES,
  type Status,
  type Uncovered,
  type WhenSpent,
  spending,
  stricter,
} from "deeprotect";
import { loadExported } from "../files";
import { CHANGED, type FromWorker, STATUS } from "../messages";
import { type Reports, allowed, sealOf } from "../seal";
import { DEFAULTS, type Settings, holdOf, isOff, mayHoldLonger, whenSpentOf, withSite } from "../settings";
import { get, put } from "../store";
import { budgetLine, duration, holdSeconds, mayInfer, perDay, price, secondsLeft, short, statusLine } from "./words";

const HOLDS_S = [10, 30, 60, 300];

function element<Kind extends HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

async function siteOfTab(): Promise<string | null> {
  const asked = new URLSearchParams(location.search).get("site"); // where the popup is opened as a page
  const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
  const url = asked ?? tab?.url;
  return url?.startsWith("http") ? new URL(url).origin : null;
}

async function change(changed: Changed): Promise<void> {
  const bundle = await loadExported();
  await put("settings", changed({ ...DEFAULTS, ...(await get("settings")) }, bundle));
  const channel = new BroadcastChannel("settings");
  channel.postMessage("changed");
  channel.close();
  const tabs = await chrome.tabs.query({});
  await Promise.allSettled(tabs.flatMap(({ id }) => (id === undefined ? [] : [chrome.tabs.sendMessage(id, CHANGED)])));
  await show();
}

async function show(): Promise<void> {
  const [bundle, settings, site] = [
    await loadExported(),
    { ...DEFAULTS, ...(await get("settings")) },
    await siteOfTab(),
  ];
  showPromise(bundle, settings);
  showSite(settings, site);
  await showBudget(bundle, settings);
  const { reports } = await chrome.runtime.sendMessage<object, FromWorker>({ kind: "recheck" });
  showSeal(reports, site);
}

function windowsHeld(bundle: Bundle, settings: Settings): number {
  return holdOf(bundle, settings).windows;
}

function showPromise(bundle: Bundle, settings: Settings): void {
  const { may, hidden } = mayInfer(bundle);
  element("may").textContent = may;
  element("hidden").textContent = hidden;
  element("price").textContent = price(bundle, windowsHeld(bundle, settings));
  const hold = element<HTMLSelectElement>("hold");
  const [own, one] = [bundle.policy.hold.windows, holdSeconds(bundle, 1)];
  const longer = HOLDS_S.map((seconds) => Math.round(seconds / one)).filter((windows) => windows > own);
  const choices = mayHoldLonger(bundle) ? [own, ...longer] : [own];
  hold.replaceChildren(...choices.map((windows) => new Option(duration(windows * one), String(windows))));
  hold.value = String(windowsHeld(bundle, settings));
  element<HTMLSelectElement>("uncovered").value = settings.uncovered;
  element<HTMLInputElement>("tell").checked = settings.tell;
  const spent = element<HTMLSelectElement>("spent");
  spent.value = whenSpentOf(bundle, settings);
  spent.disabled = bundle.policy.whenSpent === "nothing"; // by the policy
}

function showSite(settings: Settings, site: string | null): void {
  element("site").textContent = site ? new URL(site).host : "no site";
  const on = element<HTMLInputElement>("on");
  on.disabled = !site;
  on.checked = site !== null && !isOff(settings, site);
  element("state").textContent = !site ? "" : on.checked ? "gets protected motion" : "gets no motion";
}

async function showBudget(bundle: Bundle, settings: Settings): Promise<void> {
  const spent = spending((await get("charges")) ?? NO_CHARGES, Date.now());
  const lasts = holdSeconds(bundle, windowsHeld(bundle, settings));
  const epsilon = bundle.promise.charge;
  const left = secondsLeft(stricter(settings.budget, bundle.policy.budget), spent, epsilon, lasts);
  const used = Math.round(spent.day / epsilon) * lasts;
  element("left").textContent = budgetLine(used, left);
  const most = settings.budget.perDay;
  element<HTMLInputElement>("hours").value = most === null ? "" : short(((most / epsilon) * lasts) / 3600);
  const bar = element<HTMLProgressElement>("bar");
  bar.hidden = left === null;
  bar.value = left === null ? 0 : used / Math.max(used + left, lasts);
}

function showSeal(reports: Reports, site: string | null): void {
  const sealed = site !== null && sealOf(reports, site) === "sealed";
  const known = site !== null && reports.sites.some(([origin]) => origin === site);
  const open = sealed ? allowed(reports) : [];
  element("seal").textContent = !known ? "Unknown" : sealed ? "Sealed" : "Partial";
  element("seal").dataset.state = !known ? "unknown" : sealed ? "sealed" : "partial";
  const text = !known
    ? "Open or reload a site to see."
    : sealed
      ? "The browser itself keeps raw motion from this site."
      : "Not protected against a site that wants raw motion: its offline pages and its pop-ups still leak.";
  element("sealed").textContent = open.length ? `${text} It still gives it to ${open.join(", ")}.` : text;
  element("guide").hidden = sealed && !open.length;
  element("seal").dataset.shown = "yes"; // shown last
}

type Changed = (settings: Settings, bundle: Bundle) => Settings;

function onChange(id: string, changed: Changed): void {
  element(id).addEventListener("change", () => void change(changed));
}

async function switchSite(): Promise<void> {
  const site = await siteOfTab();
  const state = element<HTMLInputElement>("on").checked ? "on" : "off";
  if (site) await change((settings) => withSite(settings, site, state));
}

element("on").addEventListener("change", () => void switchSite());
onChange("tell", (settings) => ({ ...settings, tell: element<HTMLInputElement>("tell").checked }));
onChange("hold", (settings, bundle) => {
  const [hold, before] = [Number(element<HTMLSelectElement>("hold").value), windowsHeld(bundle, settings)];
  const most = settings.budget.perDay; // the same hours a day, at a lower cost
  const perDay = most === null ? null : (most * before) / hold;
  return { ...settings, hold, budget: { ...settings.budget, perDay } };
});
onChange("uncovered", (settings) => {
  return { ...settings, uncovered: element<HTMLSelectElement>("uncovered").value as Uncovered };
});
onChange("spent", (settings) => {
  return { ...settings, whenSpent: element<HTMLSelectElement>("spent").value as WhenSpent };
});
onChange("hours", (settings, bundle) => {
  const hours = element<HTMLInputElement>("hours").valueAsNumber;
  const lasts = holdSeconds(bundle, windowsHeld(bundle, settings));
  const budget = hours > 0 ? { ...NO_BUDGET, perDay: perDay(hours, bundle.promise.charge, lasts) } : NO_BUDGET;
  return { ...settings, budget };
});
element("guide").addEventListener("click", () => void chrome.tabs.create({ url: "guide.html" }));

/** The offscreen document answers, if there is one. */
function watchStatus(): void {
  const channel = new BroadcastChannel(STATUS);
  channel.onmessage = ({ data }: MessageEvent<Status | null>) => {
    if (data) element("status").textContent = statusLine(data);
  };
  element("status").textContent = statusLine(null);
  channel.postMessage(null);
}

watchStatus();
void show();
