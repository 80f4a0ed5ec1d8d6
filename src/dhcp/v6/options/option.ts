// An option as it is sent, and the ones that every kind of reply is made of (RFC 8415 sections 21.1 and 21.13).
import { putUint16 } from "../../../frame/bytes.ts";
import { asciiBytes, uintBytes } from "../../options/bytes.ts";
import { concatenate } from "../bytes.ts";
import { optionHeadBytes } from "../message/option-list.ts";
import { codeV6, type StatusCode, statusCode } from "./codes.ts";

export interface RawOptionV6 {
  readonly code: number;
  readonly data: Uint8Array;
}

export function wireBytesV6({ data }: RawOptionV6): number {
  return optionHeadBytes + data.length;
}

/** Returns where the option ends. */
export function writeOptionV6(into: Uint8Array, at: number, { code, data }: RawOptionV6): number {
  putUint16(into, at, code);
  putUint16(into, at + 2, data.length);
  into.set(data, at + optionHeadBytes);
  return at + optionHeadBytes + data.length;
}

/** A head of fixed fields and options behind it: what IAs are. */
export function nest(code: number, head: Uint8Array, options: readonly RawOptionV6[]): RawOptionV6 {
  const data = new Uint8Array(options.reduce((sum, each) => sum + wireBytesV6(each), head.length));
  data.set(head);
  let end = head.length;
  for (const option of options) end = writeOptionV6(data, end, option);
  return { code, data };
}

/** For people who read a trace or the client's log. 32 bytes at most. */
const words: Readonly<Record<StatusCode, string>> = {
  [statusCode.success]: "done",
  [statusCode.noAddressesAvailable]: "no address for this IA",
  [statusCode.noBinding]: "not bound to this client",
  [statusCode.notOnLink]: "the address is not this client's",
  [statusCode.useMulticast]: "send to ff02::1:2",
  [statusCode.noPrefixAvailable]: "no prefixes here",
};

const statuses = new Map<StatusCode, RawOptionV6>(
  Object.values(statusCode).map((status) => {
    const data = concatenate([uintBytes(status, 2), asciiBytes(words[status])!]);
    return [status, { code: codeV6.status, data }];
  }),
);

export function statusOption(status: StatusCode): RawOptionV6 {
  return statuses.get(status)!;
}
