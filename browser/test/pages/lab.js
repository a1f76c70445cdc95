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
  "its observable on the page": (win, name) =>
    win.EventTarget.prototype.when
      .call(window, "devicemotion", { capture: true })
      .subscribe((event) => see(name, event)),
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
const onPage = (name) => (event) => see(name, event);
const watch = (sensor, name) => {
  sensor.addEventListener("reading", () => tell(`${name}/reading`, [sensor.x, sensor.y].filter(Number.isFinite)));
  sensor.start();
};
LAB["observable of events"] = (name) => {
  for (const type of ["devicemotion", "deviceorientation", "deviceorientationabsolute"])
    window.when(type, { capture: true, passive: true }).subscribe(onPage(name));
};
LAB["observable whose type is a proxy, mapped and awaited"] = (name) => {
  const type = new Proxy(() => {}, { get: () => () => "devicemotion" });
  EventTarget.prototype.when
    .call(undefined, type, new Proxy({}, { get: () => true }))
    .map((event) => (see(name, event), event))
    .first()
    .then(onPage(name));
};
LAB["observable of a node through which no event goes"] = (name) => {
  for (const target of [document, document.body, document.documentElement, navigator.permissions, screen])
    target.when?.("devicemotion", { capture: true }).subscribe(onPage(name));
};
LAB["observable while its classes are poisoned"] = (name) => {
  const { next } = Subscriber.prototype;
  Subscriber.prototype.next = function (event) {
    if (event?.isTrusted) see(name, event);
    return next.call(this, event);
  };
  window.Observable = class extends Observable {
    constructor(start) {
      super(start);
      for (const type of ["devicemotion", "deviceorientation"])
        Reflect.apply(start, window, [{ next: onPage(name), signal: new AbortController().signal, type }]);
    }
  };
  window.when("devicemotion").subscribe(onPage(name));
};
LAB["options that are proxies"] = (name) => {
  const options = (target) => new Proxy(target, { get: (_, key) => key === "capture" || undefined, has: () => true });
  addEventListener("devicemotion", onPage(name), options({}));
  addEventListener(
    "deviceorientation",
    onPage(name),
    options(() => {}),
  );
  new Accelerometer(
    new Proxy({}, { get: (_, key) => (key === "frequency" ? { valueOf: () => 60 } : undefined) }),
  ).start();
};
LAB["options whose signal is another's"] = (name) => {
  const signal = AbortSignal.any([new AbortController().signal]);
  Object.defineProperty(signal, "aborted", { get: () => (removeEventListener("devicemotion", onPage(name)), false) });
  signal.addEventListener = (...args) => args.filter((each) => typeof each === "function").forEach((each) => each());
  addEventListener("devicemotion", onPage(name), { signal });
};
LAB["listeners that are proxies, objects and native functions"] = (name) => {
  addEventListener("devicemotion", new Proxy(onPage(name), {}));
  addEventListener(
    "devicemotion",
    new Proxy({}, { get: (_, key) => (key === "handleEvent" ? onPage(name) : undefined) }),
  );
  addEventListener("devicemotion", {
    get handleEvent() {
      document.write("<p>");
      return onPage(name);
    },
  });
  for (const each of [window.queueMicrotask, Reflect.ownKeys, window.structuredClone])
    addEventListener("devicemotion", each);
};
LAB["handlers by a global declaration, with, and Reflect.set"] = (name) => {
  window.keep = onPage(name);
  for (const text of ["var ondevicemotion = keep", "function ondeviceorientation(e) { keep(e) }"])
    document.head.append(Object.assign(document.createElement("script"), { text }));
  Function("keep", "with (window) { ondeviceorientationabsolute = keep }")(window.keep);
  Reflect.set(window, "ondevicemotion", window.keep, window);
  try {
    Reflect.set(Object.create(window), "ondevicemotion", window.keep);
  } catch {}
  Object.getOwnPropertyDescriptor(window, "ondevicemotion").set.call(undefined, window.keep);
};
LAB["species and constructors of arrays"] = (name) => {
  class Kept extends Array {
    static get [Symbol.species]() {
      return Kept;
    }
    push(...given) {
      for (const each of given)
        if (typeof each === "function") Reflect.apply(each, window, ["devicemotion", onPage(name)]);
      return super.push(...given);
    }
  }
  Object.defineProperty(Array, Symbol.species, { get: () => Kept });
  Object.defineProperty(Array.prototype, "constructor", { value: Kept, configurable: true });
  addEventListener("devicemotion", onPage(name));
  removeEventListener("devicemotion", () => {});
  window.ondevicemotion = onPage(name);
};
LAB["setters of every index of an array"] = (name) => {
  for (let at = 0; at < 5; at += 1)
    Object.defineProperty(Array.prototype, at, {
      configurable: true,
      set(value) {
        if (typeof value === "function") Reflect.apply(value, window, ["devicemotion", onPage(name)]);
        Object.defineProperty(this, at, { value, writable: true, configurable: true, enumerable: true });
      },
    });
  try {
    addEventListener("devicemotion", onPage(name));
    window.ondeviceorientation = onPage(name);
    watch(new Accelerometer(), name);
  } finally {
    for (let at = 0; at < 5; at += 1) delete Array.prototype[at];
  }
};
LAB["the type of an event that changes"] = (name) => {
  const get = Object.getOwnPropertyDescriptor(Event.prototype, "type").get;
  Object.defineProperty(Event.prototype, "type", { configurable: true, get: () => "load" });
  Object.defineProperty(Event.prototype, "eventPhase", { configurable: true, get: () => 0 });
  Event.prototype.stopImmediatePropagation = Event.prototype.preventDefault = () => {};
  addEventListener("devicemotion", (event) => tell(`${name}/${get.call(event)}`, [event.acceleration?.x]));
  dispatchEvent(Object.setPrototypeOf(new DeviceMotionEvent("devicemotion"), Event.prototype));
};
LAB["an event that is sent on to another target"] = (name) => {
  const other = new EventTarget();
  other.addEventListener("devicemotion", onPage(name));
  addEventListener("devicemotion", (event) => setTimeout(() => other.dispatchEvent(event)));
  dispatchEvent(new DeviceMotionEvent("devicemotion", { acceleration: { x: 1, y: 1, z: 1 } }));
};
LAB["subclasses of sensors"] = (name) => {
  class Mine extends Accelerometer {
    constructor() {
      super({ frequency: 60 });
      Object.setPrototypeOf(Mine, Sensor);
    }
    start() {
      return Sensor.prototype.start.call(this);
    }
  }
  watch(new Mine(), name);
  for (const Kind of [Accelerometer, LinearAccelerationSensor, GravitySensor, Gyroscope])
    for (const self of [Kind, Sensor, Object, function () {}.bind(), new Proxy(Kind, {})])
      try {
        watch(Reflect.construct(Object.getPrototypeOf(Kind), [{ frequency: 60 }], self), name);
      } catch {}
  for (let Kind = AbsoluteOrientationSensor; Kind?.prototype; Kind = Object.getPrototypeOf(Kind))
    try {
      watch(new Kind.prototype.constructor(), name);
    } catch {}
};
LAB["sensors cloned, transferred and serialised"] = (name) => {
  const sensor = new Accelerometer({ frequency: 60 });
  watch(sensor, name);
  for (const act of [
    () => watch(structuredClone(sensor), name),
    () => watch(Object.assign(Object.create(sensor), {}), name),
    () => watch(new Proxy(sensor, {}), name),
    () => postMessage(sensor, "*"),
    () => history.replaceState(sensor, ""),
  ])
    try {
      act();
    } catch {}
  setInterval(() => {
    const { x, y, z } = JSON.parse(JSON.stringify(sensor));
    tell(`${name}/read`, [sensor.x, sensor.y, x, y, z].filter(Number.isFinite));
  }, 50);
};
LAB["handlers on a node that another document adopts"] = (name) => {
  const other = document.implementation.createHTMLDocument("");
  const [body, frameset] = [other.body, other.createElement("frameset")];
  for (const each of [body, frameset]) {
    each.setAttribute("ondevicemotion", "see(name, event)");
    each.ondevicemotion = onPage(name);
    each.addEventListener("devicemotion", onPage(name), true);
  }
  window.name = name;
  document.adoptNode(body);
  document.documentElement.replaceChild(body, document.body);
  document.documentElement.append(document.adoptNode(frameset));
};
LAB["custom elements called back while the document is opened"] = (name) => {
  customElements.define(
    "x-back",
    class extends HTMLElement {
      disconnectedCallback() {
        addEventListener("devicemotion", onPage(name), true);
        window.ondeviceorientation = onPage(name);
        watch(new Accelerometer(), name);
      }
    },
  );
  document.body.append(document.createElement("x-back"));
  document.open();
};
LAB["document opened again, written and listened to"] = (name) => {
  for (const act of [() => document.open(), () => document.write("<p>"), () => document.writeln("<p>")]) {
    act();
    addEventListener("devicemotion", onPage(name), true);
    window.ondeviceorientation = onPage(name);
    document.close();
  }
};
LAB["listening inside a view transition"] = (name) =>
  document.startViewTransition(() => {
    addEventListener("devicemotion", onPage(name), true);
    spy(window, name, tell);
  });
LAB["listening in tasks, when idle, and as it goes"] = (name) => {
  const act = () => addEventListener("devicemotion", onPage(name), true);
  scheduler.postTask(act);
  requestIdleCallback(act);
  new ResizeObserver(act).observe(document.body);
  addEventListener("visibilitychange", act);
  navigation.onnavigate = act;
  history.pushState(1, "");
};
LAB["frame made by every parser"] = (name) => {
  const made = [];
  const text = "<div><iframe></iframe></div>";
  const range = document.createRange();
  range.selectNode(document.body);
  document.body.append(range.createContextualFragment(text));
  made.push(window[window.length - 1]);
  document.body.append(document.adoptNode(new DOMParser().parseFromString(text, "text/html").body.firstChild));
  made.push(window[window.length - 1]);
  document.body.append(document.importNode(Document.parseHTMLUnsafe(text).body.firstChild, true));
  made.push(window[window.length - 1]);
  const host = document.body.appendChild(document.createElement("p"));
  host.setHTMLUnsafe(`<p><template shadowrootmode="closed">${text}</template></p>`);
  made.push(window[window.length - 1]);
  host.insertAdjacentHTML("afterend", text);
  made.push(window[window.length - 1]);
  for (const each of made) spy(each, name, tell);
};
LAB["frame met by an element beside it"] = (name) => {
  customElements.define(
    "x-met",
    class extends HTMLElement {
      connectedCallback() {
        for (let at = 0; at < window.length; at += 1) spy(window[at], name, tell);
      }
    },
  );
  document.body.innerHTML = "<iframe></iframe><iframe srcdoc='<p>'></iframe><x-met></x-met>";
};
LAB["object and embed of about:blank"] = (name) => {
  for (const [tag, attributes] of [
    ["object", { data: "about:blank", type: "text/html" }],
    ["embed", { src: "about:blank", type: "text/html" }],
    ["object", { data: "javascript:void 0", type: "text/html" }],
    ["embed", { src: "javascript:void 0", type: "text/html" }],
  ]) {
    const at = window.length;
    document.body.append(Object.assign(document.createElement(tag), attributes));
    const look = () => window[at] && spy(window[at], name, tell);
    look();
    setTimeout(look, 300);
  }
};
LAB["module by an import map in a frame"] = (name) => {
  const source = `${spy};spy(window,${JSON.stringify(name)},(way,numbers)=>top.postMessage({way,numbers},"*"))`;
  const map = { imports: { motion: `data:text/javascript,${encodeURIComponent(source)}` } };
  const text = `<script type="importmap">${JSON.stringify(map)}</${"script"}>
    <script type="module">import "motion"</${"script"}>`;
  document.body.append(Object.assign(document.createElement("iframe"), { srcdoc: text }));
};
LAB["frame that goes on and comes back"] = (name) => {
  const frame = Object.assign(document.createElement("iframe"), { src: `/spying?${encodeURIComponent(name)}` });
  document.body.append(frame);
  setTimeout(() => (frame.contentWindow.location = "/empty"), 400);
  setTimeout(() => frame.contentWindow.history.back(), 900);
};
LAB["frame whose location becomes a script"] = (name) => {
  window.spyFrom = (win) => spy(win, name, tell);
  const at = window.length;
  document.body.append(document.createElement("iframe"));
  window[at].location = "javascript:parent.spyFrom(window)";
  window[at].location.replace("about:blank#again");
  setTimeout(() => spy(window[at], name, tell), 300);
};
LAB["worker of a worker, and a worklet"] = async (name) => {
  const source = `for (const kind of ["Accelerometer", "Gyroscope"]) if (kind in self) {
    const s = new self[kind](); s.onreading = () => postMessage([s.x, s.y, s.z]); s.start(); }
    self.addEventListener("devicemotion", (e) => postMessage([e.acceleration.x]));
    self.when?.("devicemotion").subscribe((e) => postMessage([e.acceleration.x]));`;
  const inner = URL.createObjectURL(new Blob([source]));
  const outer = `new Worker(${JSON.stringify(inner)}).onmessage = ({ data }) => postMessage(data)`;
  new Worker(URL.createObjectURL(new Blob([outer])), { type: "module" }).onmessage = ({ data }) =>
    tell(`${name}/message`, data);
  await new OfflineAudioContext(1, 1, 8000).audioWorklet.addModule(
    URL.createObjectURL(
      new Blob([`if ("Accelerometer" in globalThis) throw new Error()`], { type: "text/javascript" }),
    ),
  );
};
LAB["permission that is asked for and watched"] = async (name) => {
  const asked = new Proxy({}, { get: (_, key) => (key === "name" ? "accelerometer" : undefined) });
  const status = await navigator.permissions.query(asked);
  status.onchange = () => watch(new Accelerometer(), name);
  Object.defineProperty(PermissionStatus.prototype, "state", { get: () => "granted" });
  await DeviceMotionEvent.requestPermission?.().catch(() => {});
  await navigator.permissions.request?.({ name: "accelerometer" }).catch(() => {});
  addEventListener("devicemotion", onPage(name), true);
  watch(new Accelerometer(), name);
};
