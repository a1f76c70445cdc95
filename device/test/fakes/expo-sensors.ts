// A stand-in for the part of expo-sensors that deeprotect/expo uses; tests play its readings.
interface Value {
  x: number;
  y: number;
  z: number;
  timestamp: number;
}

class Played<Measurement> {
  readonly listeners = new Set<(value: Measurement) => void>();
  interval = 0;
  asked = 0;

  addListener(listener: (value: Measurement) => void): { remove(): void } {
    this.listeners.add(listener);
    return { remove: () => void this.listeners.delete(listener) };
  }

  setUpdateInterval(ms: number): void {
    this.interval = ms;
  }

  async isAvailableAsync(): Promise<boolean> {
    return true;
  }

  async getPermissionsAsync() {
    return { granted: false, expires: "never", canAskAgain: true, status: "undetermined" };
  }

  async requestPermissionsAsync() {
    this.asked += 1;
    return { granted: true, expires: "never", canAskAgain: true, status: "granted" };
  }

  play(value: Measurement): void {
    this.listeners.forEach((listener) => listener(value));
  }
}

export const Accelerometer = new Played<Value>();
export const Gyroscope = new Played<Value>();
export const DeviceMotion = new Played<{ acceleration: Value | null }>();
