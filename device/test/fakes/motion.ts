// A stand-in for the part of @capacitor/motion that deeprotect/capacitor uses; tests play its readings.
type Listener = (event: object) => void;
const listeners = new Map<string, Set<Listener>>();

export const Motion = {
  async addListener(name: string, listener: Listener) {
    listeners.set(name, (listeners.get(name) ?? new Set()).add(listener));
    return { remove: async () => void listeners.get(name)!.delete(listener) };
  },
  play(name: string, event: object): void {
    listeners.get(name)?.forEach((listener) => listener(event));
  },
  count: (name: string): number => listeners.get(name)?.size ?? 0,
};
