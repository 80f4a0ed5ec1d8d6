// The ranges of a configuration: where addresses come from. One address is given from each range, in the order in which
// the addresses stand in the result.
import { usableOf } from "../../ipam/definition.ts";
import { type Address, compare, parseAddress } from "../../net/address.ts";
import { type Interval, type Range, includes, parseBlock, parseRange } from "../../net/interval.ts";
import { type Prefix, contains } from "../../net/prefix.ts";
import type { JsonObject } from "../json.ts";
import { type SpecVersion, atLeast } from "../version.ts";
import { type Findings, reasonOf } from "./findings.ts";
import { type Overlay, overlayRanges } from "./overlay.ts";
import { type Slicing, parseSlicing } from "./slicing.ts";

export interface IpamRange extends Slicing {
  readonly prefix: Prefix;
  readonly start?: Address;
  readonly end?: Address;
  readonly excludes: readonly Interval[];
  /** Candidates in this order, and no others, where not empty. */
  readonly picks: readonly Address[];
  readonly l3: boolean;
  /** Each slice is the subnet of a node: its first two addresses are those of the router and of the node itself. */
  readonly isOfNodes?: boolean;
}

/** Where a range stands: at the top level of `ipam` leading zeros are read, inside `ipRanges` not, as upstream. */
interface RangePosition {
  /** `ipam.` or `ipam.ipRanges[1].` */
  readonly path: string;
  readonly top: boolean;
}

function parseIpamRange(object: JsonObject, place: RangePosition, findings: Findings): IpamRange | undefined {
  const { path } = place;
  const text = object["range"];
  const excludes = listOf(object["exclude"]).flatMap(
    (block, index) =>
      findings.attempt(`${path}exclude[${index}]`, block, () => parseBlock(block, { unmap: true })) ?? [],
  );
  const picks = parseAddresses(object["pick_addresses"], `${path}pick_addresses`, findings);
  const start = parseEnd(object, "range_start", place, findings);
  const end = parseEnd(object, "range_end", place, findings);
  if (typeof text !== "string") {
    findings.refuse(`${path}range`, text, "every range needs one; write address/length, or A-B/length");
    return undefined;
  }
  const range = findings.attempt(`${path}range`, text, () => parseRange(text, { sloppy: true, unmap: true }));
  if (range === undefined) return undefined;
  const ends = chooseEnds(range, { start, end }, path, findings);
  const slicing = parseSlicing(object, range.prefix, path, findings);
  const l3 = object["enable_l3"] === true;
  const result = { prefix: range.prefix, ...ends, excludes, picks, l3, ...slicing };
  judgeEnds(result, path, findings);
  return result;
}

/** The addresses of a list, each with its own problem; strict notation, as everywhere but in `range`. */
function parseAddresses(value: unknown, path: string, findings: Findings): Address[] {
  return listOf(value).flatMap(
    (text, index) => findings.attempt(`${path}[${index}]`, text, () => parseAddress(text, { unmap: true })) ?? [],
  );
}

/** Whether the range can hand this address out, excludes aside. Ends that do not fit are ignored here. */
export function gives(range: IpamRange, address: Address): boolean {
  const { prefix, start, end, l3 } = range;
  const usable = usableOf({ prefix, l3, outside: "ignore", ...(start && { start }), ...(end && { end }) });
  return includes(usable, address);
}

/** Picks must be addresses that the range can give: another would never be a candidate. */
function judgePicks(range: IpamRange, path: string, findings: Findings): IpamRange {
  for (const [index, pick] of range.picks.entries()) {
    if (gives(range, pick)) continue;
    const reason = `it is none of the addresses that ${range.prefix} can give; write one of those, or remove it`;
    findings.disallow(`${path}pick_addresses[${index}]`, `${pick}`, reason, "it is passed over");
  }
  return { ...range, picks: range.picks.filter((pick) => gives(range, pick)) };
}

function parseEnd(
  object: JsonObject,
  key: "range_start" | "range_end",
  { path, top }: RangePosition,
  findings: Findings,
): Address | undefined {
  const text = object[key];
  if (typeof text !== "string" || text === "") return undefined;
  if (!top) return findings.attempt(`${path}${key}`, text, () => parseAddress(text, { unmap: true }));
  try {
    return parseAddress(text, { sloppy: true, unmap: true });
  } catch (error) {
    findings.dislike(`${path}${key}`, text, `${reasonOf(error)}; write an address of the range`, "it is ignored");
    return undefined;
  }
}

interface Ends {
  readonly start?: Address | undefined;
  readonly end?: Address | undefined;
}

/** `A-B/len` has its own ends, and whereabouts lets them win over range_start and range_end without a word. */
function chooseEnds(range: Range, given: Ends, path: string, findings: Findings): Pick<IpamRange, "start" | "end"> {
  for (const key of ["start", "end"] as const) {
    const [own, other] = [range[key], given[key]];
    if (own === undefined || other === undefined || `${own}` === `${other}`) continue;
    const reason = `${path}range says ${own} already; remove one of the two`;
    findings.dislike(`${path}range_${key}`, `${other}`, reason, `${own} counts`);
  }
  const start = range.start ?? given.start;
  const end = range.end ?? given.end;
  return { ...(start && { start }), ...(end && { end }) };
}

/** Ends outside the usable addresses, or backwards: whereabouts ignores them. */
function judgeEnds({ prefix, start, end, l3 }: IpamRange, path: string, findings: Findings): void {
  const whole = usableOf({ prefix, l3 });
  for (const [key, address] of Object.entries({ range_start: start, range_end: end })) {
    if (address === undefined || includes(whole, address)) continue;
    const l3Hint = contains(prefix, address) ? " (enable_l3: true makes the first and the last usable)" : "";
    const reason = `the usable addresses of ${prefix} are ${whole.first} to ${whole.last}; write one of those${l3Hint}`;
    findings.dislike(`${path}${key}`, `${address}`, reason, "it is ignored");
  }
  const backwards = start && end && includes(whole, start) && includes(whole, end) && compare(end, start) < 0;
  if (!backwards) return;
  findings.dislike(`${path}range_end`, `${end}`, `it is below the start ${start}; swap them`, "it is ignored");
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

/** One interface has no use for so many addresses; matching static addresses to ranges is quadratic in their number. */
const maxRanges = 256;

/** `range` with its ends and excludes comes before `ipRanges`, as in whereabouts. */
export function parseRanges(
  ipam: JsonObject,
  version: SpecVersion,
  findings: Findings,
  overlay?: Overlay,
): IpamRange[] {
  const entries: { readonly path: string; readonly range: IpamRange }[] = [];
  if (typeof ipam["range"] === "string" && ipam["range"] !== "") {
    // The list of picks is shared out below: it may name addresses of several ranges.
    const range = parseIpamRange({ ...ipam, pick_addresses: [] }, { path: "ipam.", top: true }, findings);
    if (range !== undefined) entries.push({ path: "ipam.", range });
  } else refuseLonely(ipam, overlay, findings);
  const ipRanges = (ipam["ipRanges"] ?? []) as readonly JsonObject[];
  const own = ipRanges.map((object, index) => ({ path: `ipam.ipRanges[${index}].`, object }));
  const list = overlay === undefined ? own : [...own, ...overlayRanges(overlay, findings)];
  if (list.length > maxRanges) {
    const reason = `an interface gets one address from each; write ${maxRanges} at most`;
    findings.refuse(overlay === undefined ? "ipam.ipRanges" : "subnets", list.length, reason);
    return [];
  }
  const { node_slice_size, floating_slice_size } = ipam;
  const forAll = { enable_l3: ipam["enable_l3"] === true, node_slice_size, floating_slice_size };
  for (const { path, object } of list) {
    const range = parseIpamRange({ ...forAll, ...object }, { path, top: false }, findings);
    if (range !== undefined) entries.push({ path, range: judgePicks(range, path, findings) });
  }
  judgeCount(entries, version, findings);
  const ranges = entries.map(({ range }) => range);
  return sharePicks(ipam, ranges, findings);
}

/** Ends and excludes without the range they belong to: whereabouts drops them. */
function refuseLonely(ipam: JsonObject, overlay: Overlay | undefined, findings: Findings): void {
  for (const key of ["range_start", "range_end", "exclude"]) {
    const value = ipam[key];
    if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0)) continue;
    const lonely = "it belongs to ipam.range, which is missing; move it into the ipRanges entry that it is for";
    const beside = "the ranges are those of subnets; write excludeSubnets beside them";
    if (overlay === undefined) findings.dislike(`ipam.${key}`, value, lonely, "it is ignored");
    else findings.disallow(`ipam.${key}`, value, beside, "it is ignored");
  }
}

/** Top-level picks go to each range that can give them and has no list of its own. */
function sharePicks(ipam: JsonObject, ranges: readonly IpamRange[], findings: Findings): IpamRange[] {
  const picks = parseAddresses(ipam["pick_addresses"], "ipam.pick_addresses", findings);
  for (const [index, pick] of picks.entries()) {
    if (ranges.some((range) => gives(range, pick))) continue;
    const reason = "none of the ranges can give it; write addresses that they can, or remove it";
    findings.disallow(`ipam.pick_addresses[${index}]`, `${pick}`, reason, "it is passed over");
  }
  return ranges.map((range) =>
    range.picks.length > 0 ? range : { ...range, picks: picks.filter((pick) => gives(range, pick)) },
  );
}

/** The results of 0.1.0 and 0.2.0 have room for one address of each family. */
function judgeCount(entries: readonly { path: string; range: IpamRange }[], version: SpecVersion, findings: Findings) {
  if (atLeast(version, "0.3.0")) return;
  for (const family of [4, 6] as const) {
    const second = entries.filter((entry) => entry.range.prefix.family === family)[1];
    if (second === undefined) continue;
    const reason = `a result of CNI ${version} has one IPv${family} address, and this is the second range; set cniVersion to 0.3.1 or later`;
    findings.dislike(`${second.path}range`, `${second.range.prefix}`, reason, "the runtime sees the first only");
  }
}
