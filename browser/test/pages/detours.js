// More tricks of the hostile page: other ways to a fresh document, realm or clock.
const spied = (name) => `/spying?${encodeURIComponent(name)}`;
const typed = (type, text) => URL.createObjectURL(new Blob([text], { type }));
const handled = (name) =>
  `report=(way,e)=>parent.postMessage({way:${JSON.stringify(name)}+way,` +
  `numbers:[e.acceleration?.x,e.accelerationIncludingGravity?.z,e.alpha].filter(Number.isFinite)},'*')`;

trick("handlers in the text of a page", (name) => {
  const attributes = (on) =>
    `on${on}motion="report('/motion',event)" on${on}orientation="report('/orientation',event)"`;
  frame({ allow: ALLOW, srcdoc: `<script>${handled(name)}</script><body ${attributes("device")}>` });
  const script = `<script>${handled(name)}</script>`;
  const frameset = `<frameset ${attributes("device")}></frameset>`;
  frame({ allow: ALLOW, srcdoc: `<html ${attributes("device")}>${script}${frameset}` });
});
trick("handlers set as attributes and on elements", (name) => {
  window.onMotion = (event) => report(`${name}/motion`, [event.acceleration?.x].filter(Number.isFinite));
  document.documentElement.setAttribute("ondevicemotion", "onMotion(event)");
  const body = document.createElement("body");
  body.ondevicemotion = window.onMotion;
  body.setAttribute("ondevicemotion", "onMotion(event)");
  for (const target of [document, document.documentElement, body])
    target.addEventListener("devicemotion", window.onMotion, true);
});
trick("the listener's own function, called in many ways", (name) => {
  const onMotion = (event) =>
    report(`${name}/motion trusted=${event.isTrusted}`, [event.acceleration?.x].filter(Number.isFinite));
  EventTarget.prototype.addEventListener.call(window, "devicemotion", onMotion);
  Reflect.apply(EventTarget.prototype.addEventListener, globalThis, ["devicemotion", onMotion, { capture: true }]);
  Window.prototype.addEventListener.bind(window)({ toString: () => "devicemotion" }, onMotion);
  (0, addEventListener)("devicemotion", onMotion, { signal: new AbortController().signal });
});
trick("an event made by hand, sent through native getters", (name) => {
  const clean = frame().contentWindow;
  const made = document.createEvent("DeviceMotionEvent");
  clean.EventTarget.prototype.addEventListener.call(window, "devicemotion", ({ accelerationIncludingGravity: found }) =>
    report(`${name}/motion`, [found?.x, found?.y].filter(Number.isFinite)),
  );
  window.dispatchEvent(made);
});
trick("prototypes poisoned under the shim", (name) => {
  const map = Array.prototype.map;
  const seenNumbers = (list) =>
    report(
      `${name}/array`,
      list.filter((each) => typeof each === "number"),
    );
  Array.prototype.map = function (...given) {
    if (this.length <= 4) seenNumbers([...this]);
    return map.apply(this, given);
  };
  const { set } = WeakMap.prototype;
  WeakMap.prototype.set = function (key, value) {
    if (Array.isArray(value?.values)) seenNumbers(value.values);
    return set.call(this, key, value);
  };
  const { freeze } = Object;
  Object.freeze = (value) => {
    if (Array.isArray(value) && !/orient/i.test(name))
      report(`${name}/frozen orientation`, value.filter(Number.isFinite));
    return freeze(value);
  };
});
trick("messages between the worlds overheard", (name) => {
  const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data");
  Object.defineProperty(MessageEvent.prototype, "data", {
    configurable: true,
    get() {
      const data = get.call(this);
      const { orientation, ...others } = data?.reading ?? {};
      report(
        `${name}/port`,
        Object.values(others).flatMap((each) => each ?? []),
      );
      return data;
    },
  });
});
for (const [kind, type] of [
  ["XHTML", "application/xhtml+xml"],
  ["SVG", "image/svg+xml"],
]) {
  trick(`a document of ${kind}`, (name) => {
    const tell = `(way,numbers)=>parent.postMessage({way,numbers},"*")`;
    const run = `${spy};spy(window,${JSON.stringify(name)},${tell})`;
    const script = `<script xmlns="http://www.w3.org/1999/xhtml"><![CDATA[${run}]]></script>`;
    const text =
      kind === "SVG"
        ? `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`
        : `<html xmlns="http://www.w3.org/1999/xhtml"><head>${script}</head></html>`;
    frame({ allow: ALLOW, src: typed(type, text) });
  });
}
trick("a frame without credentials", (name) => frame({ allow: ALLOW, credentialless: "", src: spied(name) }));
trick("a frame that waits until it is seen", (name) => frame({ allow: ALLOW, loading: "lazy", src: spied(name) }));
trick("a frame that a link names", (name) => {
  frame({ allow: ALLOW, name: "named" });
  const link = document.createElement("a");
  Object.assign(link, { href: spied(name), target: "named" });
  document.documentElement.append(link);
  link.click();
});
trick("a form sent into a frame", (name) => {
  frame({ allow: ALLOW, name: "posted" });
  const form = document.createElement("form");
  Object.assign(form, { action: "/spying", target: "posted" });
  form.innerHTML = `<input name="trick" value="${name}">`;
  document.documentElement.append(form);
  form.submit();
});
trick("a frame that is moved", (name) => {
  const made = frame({ allow: ALLOW, src: spied(name) });
  made.onload = () => {
    made.onload = null;
    document.documentElement.prepend(made);
  };
});
trick("a fenced frame", (name) => {
  const made = document.createElement("fencedframe");
  if ("config" in made) made.config = new FencedFrameConfig(new URL(spied(name), location.href).href);
  document.documentElement.append(made);
});
trick("a shared worker", (name) => {
  const source = `onconnect=({ports:[port]})=>{for(const kind of ["Accelerometer","Gyroscope"])if(kind in self){
  const s=new self[kind]();s.onreading=()=>port.postMessage([s.x,s.y,s.z]);s.start()}
    self.addEventListener("devicemotion",(e)=>port.postMessage([e.acceleration.x]));port.postMessage([])}`;
  const { port } = new SharedWorker(URL.createObjectURL(new Blob([source])));
  port.onmessage = (event) => report(`${name}/message`, event.data);
});
trick("the pose of an inline XR session", async (name) => {
  const session = await navigator.xr?.requestSession("inline", { optionalFeatures: ["local"] });
  const space = await session?.requestReferenceSpace("local").catch(() => session.requestReferenceSpace("viewer"));
  const look = (_, at) => {
    const pose = at.getViewerPose(space)?.transform.orientation;
    if (pose) report(`${name}/orientation`, [Math.abs((Math.atan2(pose.z, pose.w) * 360) / Math.PI)]);
    session.requestAnimationFrame(look);
  };
  session?.requestAnimationFrame(look);
});
for (const kind of ["Magnetometer", "UncalibratedMagnetometer", "AmbientLightSensor"]) {
  trick(`another sensor: ${kind}`, (name) => {
    const sensor = new window[kind]({ frequency: 10 });
    sensor.onreading = () =>
      report(`${name}/reading`, [sensor.x, sensor.y, sensor.z, sensor.illuminance].filter(Number.isFinite));
    sensor.start();
  });
}
trick("what the browser's own clocks say of events", (name) => {
  new PerformanceObserver((list) =>
    report(
      `${name}/entries`,
      list
        .getEntries()
        .filter((each) => /device|reading/.test(each.name))
        .map((each) => each.duration),
    ),
  ).observe({ type: "event", durationThreshold: 16 });
  addEventListener("devicemotion", (event) => report(`${name}/interval`, [event.interval]));
});
trick("pop-up with a name, used again", (name) => {
  spyOnPopup(open("/empty", "again"), name);
  setTimeout(() => open(spied(`${name}, its next page`), "again"), 1000);
});
trick("pop-up without an opener", (name) => open(spied(name), "_blank", "noopener"));
trick("pop-up that goes away and comes back", (name) => {
  const made = open(spied(name));
  setTimeout(() => (made.location = "/empty"), 1200);
  setTimeout(() => made.history.back(), 2400);
});
trick("pop-up of a page that was rendered before", (name) => {
  const made = open("/prerendering");
  setTimeout(() => (made.location = spied(name)), 2000);
});
trick("pop-up whose document is opened again", (name) => {
  const made = open("/empty");
  setTimeout(() => {
    made.document.open();
    made.document.write(spying(name));
    made.document.close();
  }, 1000);
});
