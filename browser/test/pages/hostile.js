// A page that wants raw motion: tricks that have worked against shims, each under its own name.
const seen = {};
const tricks = [];
function report(way, numbers) {
  const known = (seen[way] ??= []);
  for (const number of numbers) if (known.length < 2000) known.push(number);
}
addEventListener("message", (event) => event.data?.way && report(event.data.way, event.data.numbers));
new BroadcastChannel("seen").onmessage = (event) => report(event.data.way, event.data.numbers);
function trick(name, action) {
  tricks.push(name);
  const failed = (error) => report(`${name}/failed ${error.name}`, []);
  try {
    Promise.resolve(action(name)).catch(failed);
  } catch (error) {
    failed(error);
  }
}
function frame(attributes = {}, parent = document.documentElement) {
  const made = document.createElement("iframe");
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}
const page = (name) => new Blob([spying(name)], { type: "text/html" });
const ALLOW = "accelerometer *; gyroscope *; magnetometer *";

trick("window before load", (name) => spy(window, name, report));
trick("handler attributes", (name) => {
  window.ondevicemotion = (event) =>
    report(`${name}/motion`, [event.acceleration?.x, event.accelerationIncludingGravity?.x].filter(Number.isFinite));
  window.ondeviceorientation = (event) => report(`${name}/orientation`, [event.alpha].filter(Number.isFinite));
});
trick("blank frame before load", (name) => spy(frame().contentWindow, name, report));
trick("blank frame with allow", (name) => spy(frame({ allow: ALLOW }).contentWindow, name, report));
trick("srcdoc frame", (name) => frame({ srcdoc: spying(name), allow: ALLOW }));
trick("srcdoc frame, its first window", (name) =>
  spy(frame({ srcdoc: "<p>", allow: ALLOW }).contentWindow, name, report),
);
trick("javascript: frame", (name) => frame({ src: `javascript:${JSON.stringify(spying(name))}` }));
trick("javascript: frame that runs", (name) => {
  window.spyFrom = (win) => spy(win, name, report);
  frame({ src: "javascript:parent.spyFrom(window)" });
});
trick("blob: frame", (name) => frame({ src: URL.createObjectURL(page(name)), allow: ALLOW }));
trick("data: frame", (name) => frame({ src: `data:text/html,${encodeURIComponent(spying(name))}`, allow: ALLOW }));
trick("sandboxed frame with scripts", (name) =>
  frame({ sandbox: "allow-scripts", srcdoc: spying(name), allow: ALLOW }),
);
trick("sandboxed frame without scripts", (name) => {
  const made = frame({ sandbox: "allow-same-origin", srcdoc: "<p>" });
  spy(made.contentWindow, name, report);
  made.onload = () => spy(made.contentWindow, `${name}, loaded`, report);
});
trick("object element", (name) => {
  const made = document.createElement("object");
  made.data = URL.createObjectURL(page(name));
  made.type = "text/html";
  document.documentElement.append(made);
});
trick("embed element", (name) => {
  const made = document.createElement("embed");
  made.src = URL.createObjectURL(page(name));
  made.type = "text/html";
  document.documentElement.append(made);
});
trick("frame written by innerHTML", (name) => {
  const box = document.createElement("div");
  document.documentElement.append(box);
  box.innerHTML = `<iframe allow="${ALLOW}"></iframe>`;
  spy(box.firstChild.contentWindow, name, report);
});
trick("frame in svg", (name) => {
  const box = document.createElement("div");
  document.documentElement.append(box);
  box.innerHTML = '<svg><foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml"></iframe></foreignObject></svg>';
  spy(box.querySelector("iframe").contentWindow, name, report);
});
trick("frame in a shadow root", (name) => {
  const host = document.createElement("div");
  document.documentElement.append(host);
  spy(frame({}, host.attachShadow({ mode: "closed" })).contentWindow, name, report);
});
trick("three frames deep", (name) => {
  const outer = frame();
  const middle = outer.contentDocument.createElement("iframe");
  outer.contentDocument.documentElement.append(middle);
  const inner = middle.contentDocument.createElement("iframe");
  middle.contentDocument.documentElement.append(inner);
  spy(inner.contentWindow, name, report);
});
trick("frame seen by a mutation observer", (name) => {
  new MutationObserver((changes, self) => {
    const made = changes.flatMap((change) => [...change.addedNodes]).find((node) => node.id === "observed");
    if (made) {
      self.disconnect();
      spy(made.contentWindow, name, report);
    }
  }).observe(document.documentElement, { childList: true });
  frame({ id: "observed" });
});
trick("document.open in a frame", (name) => {
  const made = frame({ allow: ALLOW });
  made.contentDocument.open();
  made.contentDocument.write(spying(name));
  made.contentDocument.close();
});
trick("document.open, listener kept from before", (name) => {
  const made = frame({ allow: ALLOW });
  spy(made.contentWindow, name, report);
  made.contentDocument.open();
  made.contentDocument.write("<p>");
  made.contentDocument.close();
});
trick("frame that navigates after a listener", (name) => {
  const made = frame({ allow: ALLOW });
  spy(made.contentWindow, name, report);
  made.src = "/empty";
  made.onload = () => spy(made.contentWindow, `${name}, loaded`, report);
});
trick("frame of this origin", (name) => frame({ src: `/spying?${encodeURIComponent(name)}`, allow: ALLOW }));
trick("frame whose path denies nothing", (name) => frame({ src: `/loose?${encodeURIComponent(name)}`, allow: ALLOW }));
trick("frame of another origin, allowed", (name) =>
  frame({ src: `${OTHER}/spying?${encodeURIComponent(name)}`, allow: ALLOW }),
);
trick("frame of another origin", (name) => frame({ src: `${OTHER}/spying?${encodeURIComponent(name)}` }));
trick("natives borrowed: addEventListener", (name) => {
  const clean = frame().contentWindow;
  const onMotion = (event) =>
    report(
      `${name}/motion trusted=${event.isTrusted}`,
      [event.acceleration?.x, event.accelerationIncludingGravity?.z].filter(Number.isFinite),
    );
  clean.EventTarget.prototype.addEventListener.call(window, "devicemotion", onMotion, true);
  clean.addEventListener.call(window, "devicemotion", onMotion);
});
trick("natives borrowed: start and getters", (name) => {
  const clean = frame().contentWindow;
  const sensor = new Accelerometer({ frequency: 60 });
  clean.Sensor.prototype.start.call(sensor);
  const get = (axis) => Object.getOwnPropertyDescriptor(clean.Accelerometer.prototype, axis).get.call(sensor);
  sensor.addEventListener("reading", () =>
    report(`${name}/reading`, [get("x"), get("y"), get("z")].filter(Number.isFinite)),
  );
  setInterval(() => report(`${name}/polled`, [get("x"), get("y"), get("z"), sensor.x].filter(Number.isFinite)), 50);
});
trick("natives borrowed: a class with our prototype", (name) => {
  const clean = frame().contentWindow;
  const sensor = Reflect.construct(clean.Accelerometer, [{ frequency: 60 }], Accelerometer);
  clean.Sensor.prototype.start.call(sensor);
  sensor.start();
  setInterval(() => report(`${name}/polled`, [sensor.x, sensor.y].filter(Number.isFinite)), 50);
});
trick("natives borrowed: getters of events", (name) => {
  const clean = frame().contentWindow;
  const get = Object.getOwnPropertyDescriptor(clean.DeviceMotionEvent.prototype, "accelerationIncludingGravity").get;
  addEventListener("devicemotion", (event) => {
    const found = get.call(event);
    report(`${name}/motion`, found ? [found.x, found.y, found.z].filter(Number.isFinite) : []);
  });
});
trick("a prototype that is changed late", (name) => {
  const native = EventTarget.prototype.dispatchEvent;
  EventTarget.prototype.dispatchEvent = function (event) {
    report(`${name}/dispatched ${event.type}`, [event.acceleration?.x].filter(Number.isFinite));
    return native.call(this, event);
  };
});
trick("the extension's own events", (name) => {
  addEventListener(
    "deeprotect-port",
    (event) => {
      const port = event.ports[0];
      if (!port) return;
      port.onmessage = ({ data }) => {
        const { orientation, ...others } = data.reading ?? {};
        report(
          `${name}/port`,
          Object.values(others).flatMap((each) => each ?? []),
        );
        report(`${name}/port orientation`, orientation ?? []);
      };
      port.postMessage({ kind: "listen", on: true });
      port.postMessage({ kind: "raw" });
    },
    true,
  );
  dispatchEvent(new Event("deeprotect-ready"));
});
trick("the extension's own documents", (name) => {
  frame({ src: `chrome-extension://${ID}/offscreen.html`, allow: ALLOW });
  fetch(`chrome-extension://${ID}/bundle/manifest.json`).then(
    (answer) => report(`${name}/fetched ${answer.status}`, [7.7]),
    () => {},
  );
  window.chrome?.runtime?.connect?.(ID, { name: "stream" }).onMessage.addListener((said) =>
    report(
      `${name}/message`,
      JSON.stringify(said)
        .match(/-?\d+\.\d+/g)
        .map(Number),
    ),
  );
});
trick("a worker", (name) => {
  const source = `for (const name of ["Accelerometer","Gyroscope"]) { if (name in self) {
    const s = new self[name](); s.onreading = () => postMessage([s.x,s.y,s.z]); s.start(); } }
    self.addEventListener("devicemotion", (e) => postMessage([e.acceleration.x])); postMessage([]);`;
  new Worker(URL.createObjectURL(new Blob([source]))).onmessage = (event) => report(`${name}/message`, event.data);
});
const served = navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready);
trick("a page of the site's service worker, in a frame", (name) =>
  served.then(() => frame({ src: `/worked/spying?${encodeURIComponent(name)}`, allow: ALLOW })),
);
/** Spies at once, and again after the test has given the pop-up sensors. */
function spyOnPopup(made, name) {
  spy(made, name, report);
  // A sensor of a window that has closed would hang this version of Chromium.
  setTimeout(() => made.closed || spy(made, `${name}, later`, report), 1500);
}
trick("pop-up about:blank", (name) => spyOnPopup(open("about:blank"), name));
trick("pop-up blob:", (name) => open(URL.createObjectURL(page(name))));
trick("pop-up blob: with an early listener", (name) =>
  spyOnPopup(open(URL.createObjectURL(new Blob(["<p>"], { type: "text/html" }))), name),
);
trick("pop-up of this origin with an early listener", (name) => spyOnPopup(open("/empty"), name));
trick("pop-up that never loads", (name) => spyOnPopup(open("/stall"), name));
trick("pop-up whose page is empty", (name) => spyOnPopup(open("/204"), name));
trick("pop-up of a script", (name) => spyOnPopup(open("javascript:'<p>'"), name));
trick("pop-up of a text", (name) => spyOnPopup(open("/text"), name));
trick("pop-up that is isolated", (name) => spyOnPopup(open("/isolated"), name));
trick("pop-up that opens another", (name) => spyOnPopup(open("/204").open("/204"), name));
trick("pop-up's own frame", (name) => {
  const made = open("/204");
  const inner = made.document.createElement("iframe");
  made.document.documentElement.append(inner);
  spyOnPopup(inner.contentWindow, name);
});
trick("pop-up opened by a frame", (name) => spyOnPopup(frame().contentWindow.open("/204"), name));
trick("pop-up that is written", (name) => {
  const made = open("");
  made.document.open();
  made.document.write(spying(name));
  made.document.close();
});
trick("pop-up of the site's service worker", (name) =>
  served.then(() => open(`/worked/spying?${encodeURIComponent(name)}`)),
);
addEventListener("load", () => {
  trick("window after load", (name) => spy(window, name, report));
  trick("blank frame after load", (name) => spy(frame({ allow: ALLOW }).contentWindow, name, report));
  trick("a frame that is taken out", (name) => {
    const made = frame({ allow: ALLOW });
    const win = made.contentWindow;
    win.addEventListener("devicemotion", (event) =>
      report(`${name}/motion`, [event.acceleration?.x].filter(Number.isFinite)),
    );
    made.remove();
  });
  trick("document.open on this page's frame, after load", (name) => {
    const made = frame({ src: "/empty", allow: ALLOW });
    made.onload = () => {
      made.onload = null;
      made.contentDocument.open();
      made.contentDocument.write(spying(name));
      made.contentDocument.close();
    };
  });
  trick("permission asked", (name) =>
    navigator.permissions.query({ name: "accelerometer" }).then((status) => report(`${name}/${status.state}`, [])),
  );
});
trick("a listener object, once and passive", (name) => {
  const again = {
    handleEvent(event) {
      report(`${name}/motion`, [event.acceleration?.x].filter(Number.isFinite));
      addEventListener("devicemotion", again, { once: true, passive: true });
    },
  };
  addEventListener("devicemotion", again, { once: true, passive: true });
});
trick("time between events", (name) => {
  let last = 0;
  window.gaps = [];
  addEventListener("devicemotion", () => {
    const now = performance.now();
    if (last) window.gaps.push([now, now - last]);
    last = now;
  });
});
