// The numbers of a bundle: named arrays of integers in the safetensors format.
import { BundleError } from "./errors";

export type Numbers = Int8Array | Int16Array | Uint16Array;

export interface Integers {
  readonly shape: readonly number[];
  readonly values: Numbers;
}

interface Stored {
  readonly dtype: "I8" | "I16" | "U16";
  readonly shape: readonly number[];
  readonly data_offsets: readonly [begin: number, end: number];
}

const TYPES = { I8: Int8Array, I16: Int16Array, U16: Uint16Array };

/** Reads arrays by name. */
export class TensorReader {
  private readonly stored: { [name: string]: Stored };
  private readonly data: Uint8Array<ArrayBuffer>;

  constructor(content: Uint8Array<ArrayBuffer>) {
    const length = new DataView(content.buffer, content.byteOffset).getUint32(0, true);
    this.data = content.subarray(8 + length);
    this.stored = JSON.parse(
      Array.from(content.subarray(8, 8 + length), (each) => String.fromCharCode(each)).join(""),
    ) as {
      [name: string]: Stored;
    };
  }

  integers(name: string): Integers {
    const found = this.stored[name];
    if (!found) throw new BundleError("a tensor that a layer needs is missing; export the bundle again");
    const aligned = this.data.slice(...found.data_offsets).buffer;
    return { shape: found.shape, values: new TYPES[found.dtype](aligned) };
  }
}
