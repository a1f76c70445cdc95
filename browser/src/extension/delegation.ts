// A frame of another origin asks its parent document what the `allow` attribute gives it: under our header the browser
// denies motion to both. Content scripts talk to each other; a page could forge an answer only for its own frames, to
// which it could grant the same anyway.
import type { Feature } from "./header";
import { allowedByPage, decide, delegatedBy, isUndecided } from "./policy";

const QUESTION = "deeprotect: what may this frame read?";

/** Resolves when this frame knows what it may read. */
export const decided: Promise<void> = isUndecided() ? askParent() : Promise.resolve();

function askParent(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = (event: MessageEvent<Feature[]>) => {
      decide(event.data);
      resolve();
    };
    window.parent.postMessage(QUESTION, "*", [port2]);
  });
}

window.addEventListener(
  "message",
  (event) => {
    const [port] = event.ports;
    if (event.data !== QUESTION || !port) return;
    event.stopImmediatePropagation();
    void decided.then(() => port.postMessage(allowedTo(event)));
  },
  true,
);

function allowedTo({ source, origin }: MessageEvent): Feature[] {
  const frame = [...document.querySelectorAll("iframe")].find(({ contentWindow }) => contentWindow === source);
  if (!frame) return [];
  return delegatedBy(frame, origin).filter((feature) => allowedByPage(feature));
}
