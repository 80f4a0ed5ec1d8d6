// All ranges of a configuration, in the order in which their addresses stand in the result.
import type { JsonObject } from "../json.ts";
import { atLeast, type SpecVersion } from "../version.ts";
import type { Findings } from "./findings.ts";
import { type Overlay, overlayRanges } from "./overlay.ts";
import { gives, type IpamRange, judgePicks, parseAddresses, parseIpamRange } from "./range.ts";

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
