// Bindings on their way to the wire's thread: columns instead of objects, so that 10,000 are a few arrays of bytes that
// change hands without a copy. They are checked before they go.
import type { Mac } from "../../../net/mac.ts";
import type { RawOption } from "../../message/placement.ts";
import type { Binding } from "../../server/binding.ts";
import { Parameters } from "../../server/parameters.ts";

export interface PackedBindings {
  /** Names of pools; `poolOf` points into it. */
  readonly pools: readonly string[];
  readonly poolOf: Uint32Array;
  readonly addresses: Uint32Array;
  /** macKeyOf the MAC; -1 for none. */
  readonly macKeys: Float64Array;
  /** Of those that have one. */
  readonly clientKeys: ReadonlyMap<number, string>;
  /** Where the options of each binding end; for each option its code, 1 if sent unasked, its length in two bytes. */
  readonly optionEnds: Uint32Array;
  readonly options: Uint8Array;
}

const optionHeaderBytes = 4;

export function packBindings(bindings: readonly Binding[]): PackedBindings {
  /** Name -> its place in `pools`. */
  const pools = new Map<string, number>();
  const clientKeys = new Map<number, string>();
  const poolOf = new Uint32Array(bindings.length);
  const addresses = new Uint32Array(bindings.length);
  const macKeys = new Float64Array(bindings.length);
  const optionEnds = new Uint32Array(bindings.length);
  const options = new Uint8Array(bindings.reduce((sum, { parameters }) => sum + optionsBytes(parameters), 0));
  let end = 0;
  for (const [index, { address, pool, macKey, clientKey, parameters }] of bindings.entries()) {
    let place = pools.get(pool);
    if (place === undefined) pools.set(pool, (place = pools.size));
    poolOf[index] = place;
    addresses[index] = address;
    macKeys[index] = macKey ?? -1;
    if (clientKey !== undefined) clientKeys.set(index, clientKey);
    for (const option of parameters?.all ?? []) {
      const isUnasked = parameters!.always.includes(option);
      options.set([option.code, isUnasked ? 1 : 0, option.data.length >> 8, option.data.length & 0xff], end);
      options.set(option.data, end + optionHeaderBytes);
      end += optionHeaderBytes + option.data.length;
    }
    optionEnds[index] = end;
  }
  return { pools: [...pools.keys()], poolOf, addresses, macKeys, clientKeys, optionEnds, options };
}

/** The memory that can change hands. */
export function buffersOf({ poolOf, addresses, macKeys, optionEnds, options }: PackedBindings): ArrayBuffer[] {
  return [poolOf, addresses, macKeys, optionEnds, options].map(({ buffer }) => buffer as ArrayBuffer);
}

export function* unpackBindings(packed: PackedBindings): Generator<Binding> {
  const { pools, poolOf, addresses, macKeys, clientKeys, optionEnds, options } = packed;
  for (let index = 0; index < addresses.length; index++) {
    const macKey = macKeys[index]!;
    const from = index === 0 ? 0 : optionEnds[index - 1]!;
    yield {
      address: addresses[index]!,
      pool: pools[poolOf[index]!]!,
      mac: macKey < 0 ? undefined : macOfKey(macKey),
      macKey: macKey < 0 ? undefined : macKey,
      clientKey: clientKeys.get(index),
      parameters: optionEnds[index] === from ? undefined : unpackOptions(options, from, optionEnds[index]!),
    };
  }
}

/** The data are views: all bindings of a batch share its memory. */
function unpackOptions(options: Uint8Array, from: number, to: number): Parameters {
  const all: RawOption[] = [];
  const always: RawOption[] = [];
  for (let at = from; at < to;) {
    const data = at + optionHeaderBytes;
    const length = (options[at + 2]! << 8) | options[at + 3]!;
    const option = { code: options[at]!, data: options.subarray(data, data + length) };
    all.push(option);
    if (options[at + 1] === 1) always.push(option);
    at = data + length;
  }
  return Parameters.restored(all, always);
}

function optionsBytes(parameters: Parameters | undefined): number {
  return parameters === undefined
    ? 0
    : parameters.all.reduce((sum, { data }) => sum + optionHeaderBytes + data.length, 0);
}

function macOfKey(key: number): Mac {
  return key
    .toString(16)
    .padStart(12, "0")
    .replaceAll(/(..)(?!$)/g, "$1:") as Mac;
}
