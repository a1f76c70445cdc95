// The bundle that the extension was exported with.
import { Bundle, type Exported } from "deeprotect";

export async function loadExported(): Promise<Bundle> {
  return new Bundle((await (await fetch(chrome.runtime.getURL("bundle/protector.json"))).json()) as Exported);
}
