// The browser's own functions, taken before a script of the page could change them. Whatever is looked up later may be
// the page's: a function by its name, a property of an object that has a prototype, an iterator.

export type Listener = EventListenerOrEventListenerObject | null;
type Any = (...args: any[]) => any;
const { bind, call } = Function.prototype;

/** A method as a function of its object. */
export const uncurried = (bind as Any).bind(call) as (method: unknown) => Any;

export const { apply, construct } = Reflect;
export const { defineProperty, freeze, getOwnPropertyDescriptor, setPrototypeOf } = Object;
const OwnProxy = Proxy;

/** The getter of an attribute as a function of its object. */
export function getterOf(holder: object, name: string): Any {
  return uncurried(getOwnPropertyDescriptor(holder, name)!.get);
}

export const addNative = uncurried(EventTarget.prototype.addEventListener) as (
  target: EventTarget, type: string, listener: Listener, options?: AddEventListenerOptions | boolean) => void;
export const removeNative = uncurried(EventTarget.prototype.removeEventListener) as typeof addNative;
export const dispatchNative = uncurried(EventTarget.prototype.dispatchEvent) as (target: object, event: Event) => boolean;
export const stopNative = uncurried(Event.prototype.stopImmediatePropagation) as (event: Event) => void;
export const cancelNative = uncurried(Event.prototype.preventDefault) as (event: Event) => void;
export const typeOfEvent = getterOf(Event.prototype, "type") as (event: unknown) => string;
const itself = getterOf(window, "window");

/** Also of another frame. */
export function isWindow(value: unknown): value is Window {
  try {
    return itself(value) === value;
  } catch {
    return false;
  }
}

type Instead = (self: unknown, args: unknown[], native: (args?: unknown[]) => unknown) => unknown;
type Class = new (...args: unknown[]) => object;

/** How an object itself has an attribute, never what its prototype has. */
function describe(holder: object, name: PropertyKey): PropertyDescriptor | undefined {
  const described = getOwnPropertyDescriptor(holder, name);
  return described && bare(described);
}

export function own(holder: object, name: PropertyKey): unknown {
  return describe(holder, name)?.value;
}

/** An object that inherits nothing. */
export function bare<Fields extends object>(fields: Fields): Fields {
  return setPrototypeOf(fields, null) as Fields;
}

/** A function that runs `instead` of a native one; to a page that looks at it, it is the native one. */
export function replaced<Native extends object>(native: Native, instead: Instead): Native {
  const traps = { apply: (target: Native, self: unknown, args: unknown[]) => instead(self, args, (given = args) => apply(target as Any, self, given)) };
  return new OwnProxy(native, bare(traps) as ProxyHandler<Native>); // a trap that is inherited would be given the native
}

/** Replace a method, or the getter of an attribute. */
export function replace(holder: object, name: string, instead: Instead): void {
  const described = describe(holder, name);
  if (!described?.configurable) return;
  const part = described.get ? "get" : "value";
  described[part] = replaced(described[part] as object, instead);
  defineProperty(holder, name, described);
}

/** Replace the setter of an attribute, and with `get` its getter, too. */
export function replaceAccessor(holder: object, name: string, { set, get }: { set: Instead; get?: Instead }): void {
  const described = describe(holder, name);
  if (!described?.set || !described.configurable) return;
  described.set = replaced(described.set, set);
  defineProperty(holder, name, described);
  if (get) replace(holder, name, get);
}

/** Replace a class of a window by one whose objects are made by `make`; to a page that looks at it, it is the native one. */
export function replaceClass(realm: object, name: string, make: (native: Class, args: unknown[], self: Class) => object): void {
  const described = describe(realm, name);
  if (!described?.configurable) return;
  const native = described.value as Class;
  const traps = { construct: (target: Class, args: unknown[], self: Class) => make(target, args, self) };
  const wrapped = new OwnProxy(native, bare(traps) as unknown as ProxyHandler<Class>);
  described.value = wrapped;
  defineProperty(realm, name, described);
  defineProperty(own(native, "prototype") as object, "constructor", bare({ value: wrapped, writable: true, enumerable: false, configurable: true }));
}

/** A class's parent is the one that pages see. */
export function inheritFrom(realm: object, parent: string, child: string): void {
  const [made, above] = [own(realm, child), own(realm, parent)] as const;
  if (made && above) setPrototypeOf(made, above as object);
}
