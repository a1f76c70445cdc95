// Released motion with the protector for activity that comes with the package: nothing is trained.
import { Motion, engineRandom, storeIn } from "deeprotect";
import activity from "deeprotect/protectors/activity.json" with { type: "json" };
import { imu, storage } from "./board.mjs"; // replace it by your own sensors and storage

const host = { now: Date.now, random: engineRandom(), store: storeIn(storage) };
const motion = new Motion(activity, host, { start: (_, intervalMs, read) => imu.poll(intervalMs, read) });
motion.onstatus = ({ state }) => console.log(state);
motion.listen((reading) => console.log(JSON.stringify(reading)), 500);
