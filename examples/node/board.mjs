// A simulated phone that is carried by a person who walks; storage ends with the process, which a real one must outlive.
const stored = new Map();

export const storage = {
  getItem: async (key) => stored.get(key) ?? null,
  setItem: async (key, value) => void stored.set(key, value),
};

/** Readings of the streams that the protector reads: m/s² without gravity, and degrees per second. */
export const imu = {
  poll(intervalMs, read) {
    const timer = setInterval(() => {
      const step = (Date.now() / 1000) * 2 * Math.PI * 1.8; // steps a second
      read({
        acceleration: [2 * Math.sin(step), 4 * Math.cos(step), Math.sin(2 * step)],
        rotationRate: [40 * Math.cos(step), 20 * Math.sin(step), 10],
      });
    }, intervalMs);
    return () => clearInterval(timer);
  },
};
