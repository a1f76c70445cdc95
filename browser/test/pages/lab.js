// Tricks that would break their page: each runs in a frame of its own, and reports to the page.
const tell = (way, numbers) => parent.postMessage({ way, numbers }, "*");
const see = (name, event) =>
  tell(
    `${name}/${event.type} trusted=${event.isTrusted}`,
    [event.acceleration?.x, event.accelerationIncludingGravity?.z, event.alpha].filter(Number.isFinite),
  );
const named = (type) => ({ toString: () => type });
const LAB = {};
/** By name: event types that are not strings. */
const SPELLINGS = {
  "a function": (type) => Object.assign(() => {}, { toString: () => type }),
  "a class": (type) =>
    class {
      static toString() {
        return type;
      }
    },
  "an async function": (type) => Object.assign(async () => {}, { toString: () => type }),
  "a proxy": (type) => new Proxy({}, { get: (_, key) => (key === Symbol.toPrimitive ? () => type : undefined) }),
  "a proxy of a function": (type) =>
    new Proxy(() => {}, { get: (_, key) => (key === Symbol.toPrimitive ? () => type : undefined) }),
  "document.all": (type) => {
    document.all.toString = () => type;
    return document.all;
  },
  "an array": (type) => [type],
  "a String": (type) => new String(type),
  "an object that inherits nothing": (type) => Object.assign(Object.create(null), { toString: () => type }),
  "a value's valueOf": (type) => ({ toString: null, valueOf: () => type }),
  toPrimitive: (type) => ({ [Symbol.toPrimitive]: () => type }),
  "another at each look": (type) => {
    let looks = 0;
    return { toString: () => (looks++ % 2 ? type : "load") };
  },
  "the event first, another then": (type) => {
    let looks = 0;
    return { toString: () => (looks++ % 2 ? "load" : type) };
  },
  "a wrapped function of another frame": (type) => {
    const f = document.body.appendChild(document.createElement("iframe"));
    return f.contentWindow.Object.assign(f.contentWindow.Function("return 1"), { toString: () => type });
  },
  "a URL": (type) => Object.assign(new URL("about:blank"), { toString: () => type }),
  "an error": (type) => Object.assign(new Error(), { toString: () => type }),
};
for (const [what, spell] of Object.entries(SPELLINGS)) {
  LAB[`event type: ${what}`] = (name) => {
    for (const type of ["devicemotion", "deviceorientation"])
      addEventListener(spell(type), (event) => see(name, event), true);
  };
}
for (const field of ["capture", "once", "passive", "signal"]) {
  for (const [what, act] of [
    ["opens the document", () => document.open()],
    ["writes", () => document.write("<p>")],
    ["removes listeners", () => removeEventListener("devicemotion", () => {})],
  ]) {
    LAB[`options: ${field} ${what}`] = (name) => {
      const options = Object.defineProperty({}, field, {
        get() {
          act();
          return field === "signal" ? undefined : true;
        },
      });
      addEventListener("devicemotion", (event) => see(name, event), options);
    };
  }
}
/** Built-ins that a shim could call while it registers a listener. */
const poisoned = (holder, key, name) => {
  const was = Object.getOwnPropertyDescriptor(holder, key);
  const kept = [];
  const keep = (value) => {
    if (typeof value === "function" && !kept.includes(value)) kept.push(value);
    if (value instanceof Event && value.isTrusted && /^device/.test(value.type)) see(name, value);
  };
  let inside = false;
  Object.defineProperty(holder, key, {
    configurable: true,
    writable: true,
    value(...args) {
      if (!inside) {
        inside = true;
        for (const each of [this, ...args]) keep(each);
        inside = false;
      }
      return Reflect.apply(was.value, this, args);
    },
  });
  const onMotion = (event) => see(name, event);
  try {
    addEventListener("devicemotion", onMotion, { capture: true });
    window.ondevicemotion = onMotion;
    removeEventListener("devicemotion", () => {});
    try {
      new Accelerometer({ frequency: 60 }).start();
    } catch {}
    const form = document.createElement("form");
    form.submit.name;
  } finally {
    Object.defineProperty(holder, key, was);
  }
  for (const each of kept)
    try {
      Reflect.apply(each, window, ["devicemotion", onMotion, true]);
    } catch {}
  for (const each of kept)
    try {
      const sensor = Reflect.construct(each, [{ frequency: 60 }]);
      sensor.onreading = () => tell(`${name}/reading`, [sensor.x, sensor.y]);
      Reflect.apply(each, sensor, []);
    } catch {}
};
const iterating = Object.getPrototypeOf([][Symbol.iterator]());
for (const [what, holder, keys] of [
  [
    "Array",
    Array.prototype,
    [
      Symbol.iterator,
      "push",
      "filter",
      "some",
      "map",
      "includes",
      "forEach",
      "find",
      "indexOf",
      "concat",
      "slice",
      "join",
    ],
  ],
  ["an array's iterator", iterating, ["next"]],
  [
    "Object",
    Object,
    [
      "assign",
      "keys",
      "freeze",
      "setPrototypeOf",
      "getPrototypeOf",
      "defineProperty",
      "getOwnPropertyDescriptor",
      "entries",
    ],
  ],
  ["Reflect", Reflect, ["apply", "construct", "get"]],
  ["Function", Function.prototype, ["call", "apply", "bind", Symbol.hasInstance]],
  ["Map", Map.prototype, ["get", "set", "has"]],
  ["WeakMap", WeakMap.prototype, ["get", "set", "has"]],
  ["Set", Set.prototype, ["add", "has", "delete", "forEach"]],
  ["String", String.prototype, ["slice", "replace", "startsWith", "concat"]],
  ["Promise", Promise.prototype, ["then", "finally"]],
  ["EventTarget", EventTarget.prototype, ["addEventListener", "dispatchEvent"]],
]) {
  for (const key of keys) LAB[`poisoned: ${what} ${String(key)}`] = (name) => poisoned(holder, key, name);
}
for (const key of [
  "get",
  "set",
  "value",
  "apply",
  "construct",
  "capture",
  "once",
  "passive",
  "signal",
  "intercept",
  "configurable",
  "handleEvent",
]) {
  LAB[`inherited by every object: ${key}`] = (name) => {
    Object.defineProperty(Object.prototype, key, {
      configurable: true,
      get() {
        return undefined;
      },
      set(value) {
        if (typeof value === "function")
          try {
            Reflect.apply(value, window, ["devicemotion", (event) => see(name, event)]);
          } catch {}
      },
    });
    try {
      addEventListener("devicemotion", (event) => see(name, event));
      window.ondeviceorientation = (event) => see(name, event);
    } finally {
      delete Object.prototype[key];
    }
  };
}
/** Frames that may lack the shim, and three ways to use their functions. */
const FRAMES = {
  "without content": { src: "/204" },
  "that never loads": { src: `http://127.0.0.1:${location.port}/stall` },
  "of a script that gives nothing": { src: "javascript:void 0" },
  "of a script in the text": { html: '<iframe src="javascript:void 0"></iframe>' },
  "as an object": { tag: "object", data: "/204", type: "text/html" },
  "that is downloaded": { src: "/attachment" },
};
const USES = {
  "its own sensors": (win, name) => spy(win, name, tell),
  "its listeners on the page": (win, name) =>
    win.EventTarget.prototype.addEventListener.call(window, "devicemotion", (event) => see(name, event), true),
  "its setter on the page": (win, name) =>
    Object.getOwnPropertyDescriptor(win, "ondevicemotion").set.call(window, (event) => see(name, event)),
};
for (const [what, { tag = "iframe", html, ...attributes }] of Object.entries(FRAMES)) {
  for (const [how, use] of Object.entries(USES)) {
    LAB[`frame ${what}: ${how}`] = (name) => {
      const at = window.length;
      if (html) document.body.innerHTML = html;
      else document.body.append(Object.assign(document.createElement(tag), attributes));
      use(window[at], name);
    };
  }
}
