// The hand-over from training: a policy, an encoder, a mechanism and public windows. Numbers and layers, no programs.
import { type Decoder, checkCertificate, checkCounted, checkPromise, checkShapes } from "./consistency";
import { isObject } from "./json";
import { checkTensors, readManifest } from "./manifest";
import { type Mechanism, readMechanism } from "./mechanism";
import { Network } from "./network";
import { OutputTable } from "./outputs";
import { type Policy, readPolicy } from "./policy";
import { Record } from "./record";
import { TensorReader } from "./tensors";

/** A protector; ε was derived again when it was loaded, and whatever did not hold was refused. */
export class Bundle {
  private constructor(
    readonly digest: string,
    readonly policy: Policy,
    readonly mechanism: Mechanism,
    readonly encoder: Network,
    private readonly decoder: Decoder,
  ) {}

  /** From the two files of a bundle: manifest.json and tensors.safetensors. */
  static async load(manifest: Uint8Array, tensors: Uint8Array<ArrayBuffer>): Promise<Bundle> {
    const { record, digest } = await readManifest(manifest);
    await checkTensors(record, tensors);
    const policy = readPolicy(record.inner("policy"));
    const mechanism = readMechanism(record.get("mechanism"));
    const reader = new TensorReader(tensors);
    const encoder = Network.read(record.get("encoder"), reader, policy.schema.dim);
    const decoder = readDecoder(record, reader, mechanism.dim);
    reader.checkAllUsed();
    checkPromise(policy, mechanism);
    checkCounted(mechanism, record.inner("training"));
    await checkCertificate(mechanism, record.inner("certificate"));
    checkShapes(mechanism, encoder, decoder, policy.schema.dim);
    return new Bundle(digest, policy, mechanism, encoder, decoder);
  }

  /** A window in units, flat with the channel fastest, from a noisy code alone; what is no number is the range's middle. */
  decode(noisyCode: Float64Array): Float64Array {
    const scaled = this.decoder.run(noisyCode).map((value) => (Number.isNaN(value) ? 0.5 : value));
    return this.policy.schema.unscale(scaled);
  }
}

function readDecoder(record: Record, tensors: TensorReader, inputs: number): Decoder {
  const stated = record.get("decoder");
  if (isObject(stated)) return OutputTable.read(new Record(stated, "decoder"), tensors);
  return Network.read(stated, tensors, inputs);
}
