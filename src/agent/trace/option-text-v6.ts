// An option of DHCPv6 by its name and value, for people (RFC 8415 section 21, RFC 3646, RFC 6939). Pure. What cannot be
// read is shown as bytes.
import { decodeDomains } from "../../dhcp/options/domain-list.ts";
import { addressBytes, addressFrom } from "../../dhcp/v6/bytes.ts";
import { OptionListV6 } from "../../dhcp/v6/message/option-list.ts";
import { codeV6 } from "../../dhcp/v6/options/codes.ts";
import { uint16, uint32 } from "../../frame/bytes.ts";
import { hex } from "./frame-head.ts";

/** Undefined: it cannot be read so. */
type Shown = (data: Uint8Array) => string | undefined;

const names = new Map<number, readonly [name: string, shown: Shown]>([
  [codeV6.clientIdentifier, ["client id", plain]],
  [codeV6.serverIdentifier, ["server id", plain]],
  [codeV6.iaNa, ["addresses", ia(12)]],
  [codeV6.iaTa, ["temporary addresses", ia(4)]],
  [codeV6.iaPd, ["prefixes", ia(12)]],
  [codeV6.iaAddress, ["address", lease(0)]],
  [codeV6.iaPrefix, ["prefix", lease(9)]],
  [codeV6.optionRequest, ["asks for", codes]],
  [codeV6.preference, ["preference", number(1)]],
  [codeV6.elapsedTime, ["elapsed", (data) => (data.length === 2 ? `${uint16(data, 0) / 100} s` : undefined)]],
  [codeV6.status, ["status", statusText]],
  [codeV6.rapidCommit, ["rapid commit", () => "yes"]],
  [codeV6.interfaceId, ["interface id", plain]],
  [codeV6.reconfigureAccept, ["reconfigure accept", () => "yes"]],
  [codeV6.dnsServers, ["DNS servers", addresses]],
  [codeV6.domainSearch, ["domain search", domains]],
  [codeV6.informationRefreshTime, ["refresh time", number(4)]],
  [
    codeV6.clientLinkLayerAddress,
    ["client MAC", (data) => (data.length === 8 ? hex(data.subarray(2), ":") : undefined)],
  ],
  [codeV6.solicitTimeMax, ["SOL_MAX_RT", number(4)]],
  [codeV6.informationTimeMax, ["INF_MAX_RT", number(4)]],
]);

const statuses = ["Success", "UnspecFail", "NoAddrsAvail", "NoBinding", "NotOnLink", "UseMulticast", "NoPrefixAvail"];
const iaidBytes = 4;

export function optionText(code: number, data: Uint8Array): string {
  const [name, shown] = names.get(code) ?? [`(${code})`, plain];
  return `${name}=${shown(data) ?? hex(data)}`;
}

function plain(data: Uint8Array): string {
  return hex(data);
}

function ia(headBytes: number): Shown {
  return (data) => {
    const inner = data.length < headBytes ? undefined : OptionListV6.scan(data, headBytes);
    if (inner === undefined) return undefined;
    const texts = Array.from(inner.all(), ([code, each]) => optionText(code, each));
    const times = headBytes === iaidBytes ? "" : ` T1 ${uint32(data, 4)} T2 ${uint32(data, 8)}`;
    return `[${[`iaid ${hex(data.subarray(0, iaidBytes))}${times}`, ...texts].join(", ")}]`;
  };
}

/** Preferred and valid lifetime; of a prefix, its length stands before it. */
function lease(at: number): Shown {
  return (data) => {
    if (data.length < (at === 0 ? addressBytes + 8 : at + addressBytes)) return undefined;
    const times = at === 0 ? addressBytes : 0;
    const length = at === 0 ? "" : `/${data[at - 1]}`;
    return `${addressFrom(data, at)}${length} preferred ${uint32(data, times)} valid ${uint32(data, times + 4)}`;
  };
}

function codes(data: Uint8Array): string | undefined {
  if (data.length % 2 !== 0) return undefined;
  return Array.from({ length: data.length / 2 }, (_, index) => uint16(data, 2 * index)).join(" ");
}

function number(bytes: 1 | 4): Shown {
  return (data) => (data.length === bytes ? `${bytes === 1 ? data[0] : uint32(data, 0)}` : undefined);
}

function addresses(data: Uint8Array): string | undefined {
  if (data.length % addressBytes !== 0) return undefined;
  return Array.from({ length: data.length / addressBytes }, (_, i) => `${addressFrom(data, i * addressBytes)}`).join(
    " ",
  );
}

function domains(data: Uint8Array): string | undefined {
  const decoded = decodeDomains(data);
  return "kind" in decoded ? undefined : decoded.join(" ");
}

function statusText(data: Uint8Array): string | undefined {
  if (data.length < 2) return undefined;
  const status = uint16(data, 0);
  const words = data.length === 2 ? "" : ` ${JSON.stringify(Buffer.from(data.subarray(2)).toString("utf8"))}`;
  return `${statuses[status] ?? status}${words}`;
}
