// The browser's own functions, captured before a script of the page can change them. Anything looked up later may be
// the page's: a function by its name, a property of an object that has a prototype, an iterator.

export type Listener = EventListenerOrEventListenerObject | null;
type Any = (...args: any[]) => any;
const { bind, call } = Function.prototype;

/** Makes a method a function that takes its object first. */
export const uncurried = (bind as Any).bind(call) as (method: unknown) => Any;

export const { apply, construct } = Reflect;
export const { defineProperty, freeze, getOwnPropertyDescriptor, setPrototypeOf } = Object;
const NativeProxy = Proxy;

/** The getter of an attribute as a function of its object. */
export function getterOf(holder: object, name: string): Any {
  return uncurried(getOwnPropertyDescriptor(holder, name)!.get);
}

type Add = (target: EventTarget, type: string, listener: Listener, options?: AddEventListenerOptions | boolean) => void;
export const addNative = uncurried(EventTarget.prototype.addEventListener) as Add;
export const removeNative = uncurried(EventTarget.prototype.removeEventListener) as Add;
export const dispatchNative = uncurried(EventTarget.prototype.dispatchEvent) as (t: object, event: Event) => boolean;
export const stopNative = uncurried(Event.prototype.stopImmediatePropagation) as (event: Event) => void;
export const cancelNative = uncurried(Event.prototype.preventDefault) as (event: Event) => void;
export const typeOfEvent = getterOf(Event.prototype, "type") as (event: unknown) => string;
const windowOf = getterOf(window, "window");

/** True also for the window of another frame. */
export function isWindow(value: unknown): value is Window {
  try {
    return windowOf(value) === value;
  } catch {
    return false;
  }
}

type Replacement = (self: unknown, args: unknown[], native: (args?: unknown[]) => unknown) => unknown;
type Class = new (...args: unknown[]) => object;

/** The descriptor of an object's own attribute, never of its prototype's. */
function describe(holder: object, name: PropertyKey): PropertyDescriptor | undefined {
  const described = getOwnPropertyDescriptor(holder, name);
  return described && withoutPrototype(described);
}

export function ownValue(holder: object, name: PropertyKey): unknown {
  return describe(holder, name)?.value;
}

/** Makes an object inherit nothing. */
export function withoutPrototype<Fields extends object>(fields: Fields): Fields {
  return setPrototypeOf(fields, null) as Fields;
}

/** A function that runs the replacement, and looks like the native one to a page that inspects it. */
export function replaced<Native extends object>(native: Native, replacement: Replacement): Native {
  const traps = {
    apply: (target: Native, self: unknown, args: unknown[]) =>
      replacement(self, args, (given = args): unknown => apply(target as Any, self, given)),
  };
  return new NativeProxy(native, withoutPrototype(traps)); // an inherited trap would get it
}

/** Replaces a method, or the getter of an attribute. */
export function replace(holder: object, name: string, replacement: Replacement): void {
  const described = describe(holder, name);
  if (!described?.configurable) return;
  const part = described.get ? "get" : "value";
  described[part] = replaced(described[part] as object, replacement) as () => unknown;
  defineProperty(holder, name, described);
}

/** Replaces the setter of an attribute, and with `get` its getter, too. */
export function replaceAccessor(
  holder: object,
  name: string,
  { set, get }: { set: Replacement; get?: Replacement },
): void {
  const described = describe(holder, name);
  if (!described?.set || !described.configurable) return;
  described.set = replaced(described.set, set);
  defineProperty(holder, name, described);
  if (get) replace(holder, name, get);
}

/** Replaces a class of a window by one whose objects `make` makes; it looks like the native one to a page. */
export function replaceClass(
  realm: object,
  name: string,
  make: (native: Class, args: unknown[], self: Class) => object,
): void {
  const described = describe(realm, name);
  if (!described?.configurable) return;
  const native = described.value as Class;
  const traps = { construct: (target: Class, args: unknown[], self: Class) => make(target, args, self) };
  const wrapped = new NativeProxy(native, withoutPrototype(traps));
  described.value = wrapped;
  defineProperty(realm, name, described);
  const constructor = { value: wrapped, writable: true, enumerable: false, configurable: true };
  defineProperty(ownValue(native, "prototype") as object, "constructor", withoutPrototype(constructor));
}

/** Makes a class inherit from the parent that pages see. */
export function inheritFrom(realm: object, parent: string, child: string): void {
  const [made, above] = [ownValue(realm, child), ownValue(realm, parent)] as const;
  if (made && above) setPrototypeOf(made, above);
}
