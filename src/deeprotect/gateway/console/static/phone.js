// Motion of this phone to its own address: readings with whole nanoseconds, in the policy's units.
"use strict";
(() => {
  const page = document.getElementById("phone");
  const start = document.getElementById("start");
  if (!start) return;
  const places = JSON.parse(page.dataset.places);
  const address = location.pathname.replace(/^\/phone\//, "/in/");
  const session = `phone-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
  const MOST_WAITING = 6000; // readings that are kept while the network is away
  const EVERY = 500;
  // Safari turns the sign of accelerations around, and is the one that asks for permission.
  const turned = typeof DeviceMotionEvent !== "undefined" && typeof DeviceMotionEvent.requestPermission === "function";
  let waiting = [], sent = 0, running = false, sending = false, speeds = [], lock = null;

  const show = (id, text) => { document.getElementById(id).textContent = text; };
  const state = (name, line) => {
    const element = document.getElementById("state");
    element.dataset.state = name;
    element.textContent = line;
  };

  const AXES = { accelerationIncludingGravity: ["x", "y", "z"], acceleration: ["x", "y", "z"], rotationRate: ["alpha", "beta", "gamma"] };
  const value = (event, { stream, axis, factor }) => {
    const found = event[stream]?.[AXES[stream][axis]];
    if (found === null || found === undefined) return null;
    return (stream !== "rotationRate" && turned ? -found : found) / factor;
  };

  const take = (event) => {
    const values = places.map((place) => value(event, place));
    if (values.every((each) => each === null)) return;
    // Microseconds are exact in a number; the nanoseconds of this century are not.
    const time = BigInt(Math.round((performance.timeOrigin + event.timeStamp) * 1000)) * 1000n;
    waiting.push([time, values]);
    if (waiting.length > MOST_WAITING) waiting.shift();
    speeds.push(performance.now());
    while (speeds[0] < performance.now() - 2000) speeds.shift();
  };

  const written = (readings) => {
    const columns = places.map((place, i) => `${JSON.stringify(place.name)}:${JSON.stringify(readings.map(([, values]) => values[i]))}`);
    return `{"session":${JSON.stringify(session)},"time":[${readings.map(([time]) => time).join(",")}],${columns.join(",")}}`;
  };

  const send = async () => {
    show("waiting", waiting.length);
    show("speed", Math.round(speeds.length / 2));
    if (sending || !waiting.length) return;
    sending = true;
    const readings = waiting.splice(0, 1000);
    try {
      const answer = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: written(readings), credentials: "omit" });
      if (answer.ok) {
        sent += readings.length;
        state("sending", "Sending.");
      } else if (answer.status === 404) {
        stop("trouble", "This address was revoked. Ask for a new one.");
      } else if (answer.status === 429 || answer.status >= 500) {
        // 499 is below: the gateway's word for "budget spent".
        waiting = readings.concat(waiting).slice(-MOST_WAITING);
        state("trouble", "The gateway is busy; trying again …");
      } else {
        sent += readings.length;
        state("trouble", (await answer.text()).slice(0, 300));
      }
    } catch {
      waiting = readings.concat(waiting).slice(-MOST_WAITING);
      state("trouble", "The gateway does not answer; trying again …");
    }
    sending = false;
    show("sent", sent.toLocaleString("en"));
    show("waiting", waiting.length);
  };

  let timer = null;
  const stop = (name, line) => {
    running = false;
    removeEventListener("devicemotion", take);
    clearInterval(timer);
    lock?.release().catch(() => {});
    lock = null;
    start.textContent = "Start";
    state(name, line);
  };

  const begin = async () => {
    if (typeof DeviceMotionEvent === "undefined") return state("trouble", "This browser has no motion sensors.");
    if (turned && (await DeviceMotionEvent.requestPermission().catch(() => "denied")) !== "granted")
      return state("trouble", "Motion was not allowed. Reload the page and allow it.");
    running = true;
    start.textContent = "Stop";
    state("waiting", "Waiting for the sensors …");
    addEventListener("devicemotion", take);
    timer = setInterval(send, EVERY);
    lock = await navigator.wakeLock?.request("screen").catch(() => null);
    setTimeout(() => {
      if (running && !sent && !waiting.length)
        state("trouble", isSecureContext ? "The sensors are silent: is this a phone, and is motion allowed for this site?" : "Browsers read sensors on https pages only; start the gateway with TLS.");
    }, 3000);
  };
  start.addEventListener("click", () => (running ? stop("idle", "Stopped.") : begin()));
})();
