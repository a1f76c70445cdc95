// Charges in the key-value storages that phones have.
import type { Charges, Store } from "./ledger";

/** AsyncStorage, expo-sqlite/kv-store, and what can be made to look like them. */
export interface KeyValues {
  getItem(key: string): Promise<string | null>;
  setItem(key: string, value: string): Promise<unknown>;
}

export function storeIn(storage: KeyValues, key = "deeprotect.charges"): Store {
  return {
    load: async () => JSON.parse((await storage.getItem(key)) ?? "null") as Charges | undefined,
    save: async (charges) => void (await storage.setItem(key, JSON.stringify(charges))),
  };
}
