// A web app that knows nothing of protection: it reads devicemotion, cuts windows, and recognises an activity.
import { Network, TensorReader } from "deeprotect";

interface Recogniser {
  layers: ConstructorParameters<typeof Network>[0];
  tensors: string;
  classes: string[];
  channels: number;
  window: number;
}

const RATE_HZ = 50;

/** What the app shows: the end of each window, its number of events, and the activity. */
const readings: { end: number; events: number; window: number[]; read: string }[] = [];
let network: Network;
let app: Recogniser;
let events: [number, ...number[]][] = [];
let next = 0;

function start(given: Recogniser): void {
  app = given;
  const tensors = Uint8Array.from(atob(app.tensors), (sign) => sign.charCodeAt(0));
  network = new Network(app.layers, new TensorReader(tensors), app.window * app.channels);
  addEventListener("devicemotion", onMotion);
}

function onMotion({ accelerationIncludingGravity: a, rotationRate: r }: DeviceMotionEvent): void {
  if (a?.x == null || r?.alpha == null) return;
  const now = performance.timeOrigin + performance.now();
  events.push([now, a.x, a.y!, a.z!, r.alpha, r.beta!, r.gamma!]);
  next ||= now;
  if (now < next + (app.window * 1000) / RATE_HZ) return;
  recognise();
}

/** Classifies the window that has just ended, resampled to 50 Hz. */
function recognise(): void {
  const window: number[] = [];
  let at = 0;
  for (let sample = 0; sample < app.window; sample += 1) {
    const time = next + (sample * 1000) / RATE_HZ;
    while (at + 1 < events.length - 1 && events[at + 1]![0] <= time) at += 1;
    const [before, after] = [events[at]!, events[Math.min(at + 1, events.length - 1)]!];
    const share = after[0] > before[0] ? Math.min(Math.max((time - before[0]) / (after[0] - before[0]), 0), 1) : 0;
    for (let axis = 1; axis <= app.channels; axis += 1)
      window.push(before[axis]! + share * (after[axis]! - before[axis]!));
  }
  const from = next;
  next += (app.window * 1000) / RATE_HZ;
  const count = events.filter(([time]) => time >= from && time < next).length;
  events = events.filter(([time]) => time >= next - 100);
  const scores = network.run(Float64Array.from(window));
  const best = scores.reduce((top, score, index) => (score > scores[top]! ? index : top), 0);
  readings.push({ end: next, events: count, window, read: app.classes[best]! });
}

Object.assign(window, { start, readings });
