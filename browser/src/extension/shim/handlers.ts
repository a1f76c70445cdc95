// Event handler attributes (onreading, ondevicemotion and the like) that the shim stores itself.
import { addNative, apply } from "./natives";

export const HANDLERS = ["onreading", "onactivate", "onerror"];
type Handler = (event: Event) => unknown;
const stored = new WeakMap<object, Map<string, Handler | null>>();

export function handlerOf(target: object, name: string): Handler | null {
  return stored.get(target)?.get(name) ?? null;
}

/** A handler that is set again stays at the position among listeners at which it was first set. */
export function setHandler(target: EventTarget, name: string, type: string, given: unknown): void {
  const handlers = stored.get(target) ?? new Map<string, Handler | null>();
  stored.set(target, handlers);
  const call = (event: Event): void => {
    const handler = handlers.get(name);
    if (typeof handler === "function") apply(handler, target, [event]);
  };
  if (!handlers.has(name)) addNative(target, type, call);
  const isHandler = typeof given === "function" || (typeof given === "object" && given !== null);
  handlers.set(name, isHandler ? (given as Handler) : null);
}
