// The browser's own functions, taken before any script of the page could change them. Whatever is looked up later than
// that may be the page's: no property of an object that has a prototype, no function by its name.

export type Listener = EventListenerOrEventListenerObject | null;
type Any = (...args: any[]) => unknown;
const { bind, call } = Function.prototype;

/** A method as a function of its object. */
const uncurried = (bind as Any).bind(call) as (method: unknown) => any;

export const addNative = uncurried(EventTarget.prototype.addEventListener) as (
  target: EventTarget, type: string, listener: Listener, options?: AddEventListenerOptions | boolean) => void;
export const removeNative = uncurried(EventTarget.prototype.removeEventListener) as typeof addNative;
export const dispatchNative = uncurried(EventTarget.prototype.dispatchEvent) as (target: object, event: Event) => void;
export const stopNative = uncurried(Event.prototype.stopImmediatePropagation) as (event: Event) => void;
export const { apply, construct } = Reflect;

type Instead = (self: unknown, args: unknown[], native: () => unknown) => unknown;
type Class = new (...args: unknown[]) => object;

/** A proxy whose traps are its own: any other would be taken from Object.prototype, and be given the native. */
function proxy<Native extends object>(native: Native, traps: ProxyHandler<Native>): Native {
  return new Proxy(native, Object.setPrototypeOf(traps, null) as ProxyHandler<Native>);
}

/** A function that runs `instead` of a native one; to whoever looks at it, it is the native one. */
export function replaced<Native extends object>(native: Native, instead: Instead): Native {
  return proxy(native, { apply: (target, self, args: unknown[]) => instead(self, args, () => apply(target as Any, self, args)) });
}

/** Replace a method, or the getter of an attribute. */
export function replace(holder: object, name: string, instead: Instead): void {
  const described = Object.getOwnPropertyDescriptor(holder, name);
  if (!described?.configurable) return;
  const part = described.get ? "get" : "value";
  Object.defineProperty(holder, name, { ...described, [part]: replaced(described[part] as object, instead) });
}

/** Replace the setter of an attribute, and with `read` its getter, too. */
export function replaceAccessor(holder: object, name: string, { set, get }: { set: Instead; get?: Instead }): void {
  const described = Object.getOwnPropertyDescriptor(holder, name);
  if (!described?.set || !described.configurable) return;
  const getter = get && described.get ? { get: replaced(described.get, get) } : {};
  Object.defineProperty(holder, name, { ...described, ...getter, set: replaced(described.set, set) });
}

/** Replace a class of a window by one whose objects are made by `make`; to whoever looks at it, it is the native one. */
export function replaceClass(realm: object, name: string, make: (native: Class, args: unknown[], self: Class) => object): void {
  const described = Object.getOwnPropertyDescriptor(realm, name);
  if (!described?.configurable) return;
  const native = described.value as Class;
  const wrapped = proxy(native, { construct: (target, args: unknown[], self) => make(target, args, self as Class) });
  Object.defineProperty(realm, name, { ...described, value: wrapped });
  Object.defineProperty(native.prototype as object, "constructor", { value: wrapped, writable: true, configurable: true });
}

/** A class's parent is the one that pages see. */
export function inheritFrom(realm: object, parent: string, names: readonly string[]): void {
  const classes = realm as { [name: string]: object };
  for (const name of names) if (name in classes) Object.setPrototypeOf(classes[name]!, classes[parent]!);
}
