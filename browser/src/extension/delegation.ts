// A frame of another origin asks its parent document what the `allow` attribute gives it: under our header the browser
// denies motion to both. The question goes from window to window, which shows the parent whose it is. The answer goes
// through the service worker, where no page can give one: a page that opens its document again removes our listeners.
import type { Feature } from "./header";
import { type Delegated, type ToWorker, isDelegated } from "./messages";
import { allowedByPage, decide, delegatedBy, isUndecided } from "./policy";

const QUESTION = "deeprotect: what may this frame read?";

/** Resolves when this frame knows what it may read. */
export const decided: Promise<void> = isUndecided() ? askParent() : Promise.resolve();

function askParent(): Promise<void> {
  const id = crypto.randomUUID();
  return new Promise((resolve) => {
    chrome.runtime.onMessage.addListener((answer: unknown) => {
      if (!isDelegated(answer) || answer.id !== id) return;
      decide(answer.features);
      resolve();
    });
    window.parent.postMessage({ question: QUESTION, id }, "*");
  });
}

window.addEventListener(
  "message",
  (event: MessageEvent<{ question?: unknown; id?: unknown } | null>) => {
    const { question, id } = event.data ?? {};
    if (question !== QUESTION || typeof id !== "string" || !event.isTrusted) return;
    event.stopImmediatePropagation();
    void decided.then(() => answer({ kind: "delegated", id, features: allowedTo(event) }));
  },
  true,
);

async function answer(message: ToWorker & Delegated): Promise<void> {
  try {
    await chrome.runtime.sendMessage(message);
  } catch {
    // The extension was removed or updated while this page was open.
  }
}

function allowedTo({ source, origin }: MessageEvent<unknown>): Feature[] {
  const frame = [...document.querySelectorAll("iframe")].find(({ contentWindow }) => contentWindow === source);
  if (!frame) return [];
  return delegatedBy(frame, origin).filter((feature) => allowedByPage(feature));
}
