// @capacitor/motion as far as deeprotect/capacitor uses it, played by a test.
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
