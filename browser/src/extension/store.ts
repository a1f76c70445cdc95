// The extension's storage: settings, charges and reports about the seal, in IndexedDB, which all its parts share.
import type { Charges } from "deeprotect";
import type { Reports } from "./seal";
import type { Settings } from "./settings";

interface Stored {
  settings: Settings;
  charges: Charges;
  reports: Reports;
  /** Whether the device is known to have motion sensors. */
  sensors: boolean;
}

export async function get<Name extends keyof Stored>(name: Name): Promise<Stored[Name] | undefined> {
  const store = (await database()).transaction("kept").objectStore("kept");
  return new Promise((resolve, reject) => {
    const request = store.get(name);
    request.onsuccess = () => resolve(request.result as Stored[Name] | undefined);
    request.onerror = () => reject(request.error!);
  });
}

/** Resolves when the value is on disk. */
export async function put<Name extends keyof Stored>(name: Name, value: Stored[Name]): Promise<void> {
  const transaction = (await database()).transaction("kept", "readwrite", { durability: "strict" });
  transaction.objectStore("kept").put(value, name);
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = transaction.onabort = () => reject(transaction.error!);
  });
}

let opened: Promise<IDBDatabase> | null = null;

function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("deeprotect", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("kept");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error!);
  });
  return opened;
}
