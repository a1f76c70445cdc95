// Stores charges in a phone's key-value storage.
import type { Charges, Store } from "./ledger";

/** The calls of AsyncStorage and expo-sqlite/kv-store that are used. */
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
