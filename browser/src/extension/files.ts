// The bundle that the extension was exported with.
import { Bundle, Channels, parse } from "deeprotect";

export interface Exported {
  readonly bundle: Bundle;
  readonly channels: Channels;
}

export async function loadExported(): Promise<Exported> {
  const [manifest, tensors, platform] = await Promise.all(["manifest.json", "tensors.safetensors", "platform.json"].map(file));
  const bundle = await Bundle.load(manifest!, tensors!);
  return { bundle, channels: Channels.read(parse(new TextDecoder().decode(platform)), bundle.policy.schema) };
}

async function file(name: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await (await fetch(chrome.runtime.getURL(`bundle/${name}`))).arrayBuffer());
}
