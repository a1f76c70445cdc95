// Event handler attributes (onreading and its kin) of sensors that are of our making.
import { addNative, apply } from "./natives";

export const HANDLERS = ["onreading", "onactivate", "onerror"];
type Handler = ((event: Event) => unknown) | null;
const kept = new WeakMap<object, Map<string, Handler>>();

export function handlerOf(sensor: object, name: string): Handler {
  return kept.get(sensor)?.get(name) ?? null;
}

/** Keeps the place in the order of listeners that it had when it was first set. */
export function setHandler(sensor: EventTarget, name: string, given: unknown): void {
  const handlers = kept.get(sensor) ?? new Map<string, Handler>();
  kept.set(sensor, handlers);
  if (!handlers.has(name)) addNative(sensor, name.slice(2), (event) => { const handler = handlers.get(name); if (handler) apply(handler, sensor, [event]); });
  handlers.set(name, typeof given === "function" ? (given as Handler) : null);
}
