// An ordinary page that reads motion in all ways and stores it.
window.motion = [];
window.orientations = [];
window.log = [];
const v = (a) => a && [a.x ?? a.alpha, a.y ?? a.beta, a.z ?? a.gamma];
addEventListener("devicemotion", (e) =>
  motion.push({
    t: performance.now(),
    a: v(e.acceleration),
    g: v(e.accelerationIncludingGravity),
    r: v(e.rotationRate),
    i: e.interval,
  }),
);
addEventListener("deviceorientation", (e) => orientations.push([e.alpha, e.beta, e.gamma]));
function sense(name, options) {
  const sensor = new window[name](options),
    seen = [];
  sensor.onactivate = () => log.push(name + " activate");
  sensor.onerror = (e) => log.push(name + " " + e.error.name);
  sensor.onreading = () => seen.push([sensor.x, sensor.y, sensor.z, sensor.timestamp]);
  sensor.start();
  return ((window.sensing ??= {})[name] = { sensor, seen });
}
