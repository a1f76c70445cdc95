// Runs before and after the shim: replaces every built-in in turn by one that looks at what it is given.
const { apply, construct, ownKeys } = Reflect;
const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

/** Every built-in that scripts can reach and change, as [name, holder, key]. */
function builtIns() {
  const found = [];
  const known = new Set();
  const walk = (name, holder, depth) => {
    if (!isObject(holder) || known.has(holder) || holder === document || depth > 3) return;
    known.add(holder);
    for (const key of ownKeys(holder)) {
      const described = getOwnPropertyDescriptor(holder, key);
      const path = `${name}.${String(key)}`;
      const parts = [described.value, described.get, described.set].filter((each) => typeof each === "function");
      if (parts.length) found.push({ path, holder, key, described, parts });
      if (typeof described.value === "function" || key === "prototype") walk(path, described.value, depth + 1);
    }
  };
  walk("window", window, 0);
  for (const value of [
    [][Symbol.iterator](),
    new Map().keys(),
    new Set().keys(),
    ""[Symbol.iterator](),
    (function* () {})(),
  ])
    for (let each = getPrototypeOf(value); each && each !== Object.prototype; each = getPrototypeOf(each))
      walk(`${value}`, each, 1);
  return found;
}

/** What the language itself has, and what is near events, documents, frames and sensors. */
const LANGUAGE =
  /^window\.(Array|Object|Function|Map|Set|Weak|String|Number|Math|Promise|Reflect|Symbol|JSON|Date|Proxy)/;
const NEAR =
  /^window\.([a-z]|Event|Abort|Obs|Subscriber|Document|Node|Element|Window|Message|Mutation|Shadow|Submit|Permission|Feature)/;
const OTHERS = /^window\.(HTML(Form|IFrame|Anchor)?Element|.*Sensor|Acc|Gyr|Device|DOM(Matrix|Ex))/;
const isLanguage = (path) => LANGUAGE.test(path) || !path.startsWith("window");
const isNear = (path) => isLanguage(path) || NEAR.test(path) || OTHERS.test(path);

const before = builtIns();
const OWN = new Set(["window.builtIns", "window.isObject"]);

/** The browser's own functions that only the shim can still reach. */
function hiddenNatives() {
  const after = new Set(builtIns().flatMap(({ parts }) => parts));
  return new Set(before.flatMap(({ parts }) => parts).filter((each) => !after.has(each)));
}

/** Calls `act` while each built-in in turn is replaced; returns what was shown to them, by name. */
async function poison(act, { throws = false, settle = async () => {}, only = () => true } = {}) {
  const hidden = hiddenNatives();
  const shown = new Set();
  let tried = 0;
  let inside = false;
  const isSecret = (value) =>
    hidden.has(value) || (value instanceof Event && value.isTrusted && /^device(motion|orient)/.test(value.type));
  const look = (path, values) => {
    if (inside) return;
    inside = true;
    for (const value of values) {
      if (!isObject(value)) continue;
      if (isSecret(value)) shown.add(path);
      if (value === window || hidden.has(value)) continue;
      for (const key of ownKeys(value).slice(0, 9))
        if (isSecret(getOwnPropertyDescriptor(value, key)?.value)) shown.add(`${path}: in ${String(key)}`);
    }
    inside = false;
    if (throws) throw new TypeError("poisoned");
  };
  for (const { path, holder, key, described } of builtIns()) {
    if (!described.configurable || OWN.has(path) || !only(path)) continue;
    const traps = {
      apply: (target, self, args) => (look(path, [self, ...args]), apply(target, self, args)),
      construct: (target, args, self) => (look(path, args), construct(target, args, self)),
    };
    const made = { ...described };
    for (const part of ["value", "get", "set"])
      if (typeof described[part] === "function") made[part] = new Proxy(described[part], traps);
    tried += 1;
    defineProperty(holder, key, made);
    try {
      act();
      await settle();
    } catch {
    } finally {
      defineProperty(holder, key, described);
    }
  }
  return { tried, hidden: hidden.size, shown: [...shown] };
}

/** What pages do that the shim replaces; each part may fail while something is poisoned. */
function use() {
  const listener = () => {};
  const attempt = (part) => {
    try {
      part();
    } catch {}
  };
  for (const type of ["devicemotion", "deviceorientation", "deviceorientationabsolute"]) {
    attempt(() => addEventListener(type, listener, { capture: true, passive: true }));
    attempt(() => addEventListener({ toString: () => type }, { handleEvent: listener }, true));
    attempt(() => window.when(type).subscribe(listener, { signal: AbortSignal.abort() }));
    attempt(() => (window[`on${type}`] = listener));
    attempt(() => (window[`on${type}`] = null));
    attempt(() => removeEventListener(type, listener, { capture: true }));
  }
  attempt(() => dispatchEvent(new DeviceMotionEvent("devicemotion")));
  for (const Kind of [window.Accelerometer, window.RelativeOrientationSensor])
    attempt(() => {
      const sensor = new Kind({ frequency: 10, referenceFrame: "screen" });
      sensor.onreading = listener;
      sensor.start();
      attempt(() => sensor.populateMatrix(new Float32Array(16)));
      sensor.stop();
    });
  attempt(() => navigator.permissions.query({ name: "accelerometer" }).catch(() => {}));
  attempt(() => document.featurePolicy.allowsFeature("accelerometer"));
  attempt(() => document.featurePolicy.allowedFeatures());
  attempt(() => document.createElement("form").submit());
  attempt(() => {
    const link = document.createElement("a");
    link.setAttribute("href", "javascript:void 0");
    link.setAttribute("target", "other");
    document.body.append(link);
    link.click();
    link.remove();
  });
}
