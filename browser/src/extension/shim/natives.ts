// The browser's own functions, taken before any script of the page could change them.

export type Listener = EventListenerOrEventListenerObject | null;
export const addNative = EventTarget.prototype.addEventListener;
export const removeNative = EventTarget.prototype.removeEventListener;
export const dispatchNative = EventTarget.prototype.dispatchEvent;
export const stopNative = Event.prototype.stopImmediatePropagation;
export const { timeOrigin } = performance;

/** A function that runs `instead` of a native one; to whoever looks at it, it is the native one. */
export function replaced<Function extends object>(
  native: Function,
  instead: (self: unknown, args: unknown[], native: () => unknown) => unknown,
): Function {
  return new Proxy(native, {
    apply: (target, self, args: unknown[]) => instead(self, args, () => Reflect.apply(target as never, self, args)),
  });
}

/** Replace a method, or the getter of an attribute. */
export function replace(
  holder: object,
  name: string,
  instead: (self: unknown, args: unknown[], native: () => unknown) => unknown,
): void {
  const described = Object.getOwnPropertyDescriptor(holder, name);
  if (!described?.configurable) return;
  if (described.get) Object.defineProperty(holder, name, { ...described, get: replaced(described.get, instead) });
  else Object.defineProperty(holder, name, { ...described, value: replaced(described.value as object, instead) });
}
