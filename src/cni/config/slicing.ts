// How a range is cut into slices of nodes: node_slice_size and floating_slice_size, at the top of `ipam` for all ranges
// or inside one of `ipRanges`; a dual-stack network needs one for each family.
import { bitsOf } from "../../net/address.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { JsonObject } from "../json.ts";
import type { Findings } from "./findings.ts";

export interface Slicing {
  /** Prefix length of a node's slice; undefined where nodes share the range. */
  readonly sliceLength?: number;
  /** Prefix length of the part that belongs to no node; undefined: there is none. */
  readonly floatingLength?: number;
}

/** Beyond, the list of slices is no list any more; a pool of 5,000 nodes uses 5,000 of them. */
const maxSliceBits = 24;

export function parseSlicing(object: JsonObject, prefix: Prefix, path: string, findings: Findings): Slicing {
  const sliceLength = parseLength(object, "node_slice_size", path, findings);
  const floatingLength = parseLength(object, "floating_slice_size", path, findings);
  const bits = bitsOf(prefix.family);
  if (sliceLength !== undefined && (sliceLength < prefix.length || sliceLength > bits)) {
    const reason =
      `${prefix} cannot be cut into /${sliceLength}; write ${prefix.length} to ${bits}, ` +
      "or a node_slice_size of its own into each entry of ipRanges";
    findings.refuse(`${path}node_slice_size`, object["node_slice_size"], reason);
    return {};
  }
  if (sliceLength !== undefined && sliceLength - prefix.length > maxSliceBits) {
    const reason = `${prefix} would be 2^${sliceLength - prefix.length} slices; write ${prefix.length + maxSliceBits} at most`;
    findings.refuse(`${path}node_slice_size`, object["node_slice_size"], reason);
  }
  if (floatingLength === undefined) return sliceLength === undefined ? {} : { sliceLength };
  if (sliceLength === undefined || floatingLength > sliceLength || floatingLength <= prefix.length) {
    const reason =
      sliceLength === undefined
        ? "it needs node_slice_size; write that too, or remove it"
        : `it is one slice or several, and not the whole range; write a length above ${prefix.length}, up to ${sliceLength}`;
    findings.refuse(`${path}floating_slice_size`, object["floating_slice_size"], reason);
    return {};
  }
  return { sliceLength, floatingLength };
}

/** `fast_ipam` is the design paper's switch; whereabouts and so old configurations lack it: refused in every mode. */
export function judgeFastIpam(ipam: JsonObject, ranges: readonly Slicing[], findings: Findings): void {
  const fast = ipam["fast_ipam"];
  const isSliced = ranges.some(({ sliceLength }) => sliceLength !== undefined);
  if (fast === true && !isSliced && ranges.length > 0) {
    findings.refuse("ipam.fast_ipam", fast, "it needs node_slice_size; write the size, like /24");
  }
  if (fast === false && isSliced) {
    const reason = "node_slice_size is given, which asks for slices; remove one of the two";
    findings.refuse("ipam.fast_ipam", fast, reason);
  }
}

function parseLength(object: JsonObject, key: string, path: string, findings: Findings): number | undefined {
  const text = object[key];
  if (typeof text !== "string" || text === "") return undefined;
  if (/^\/?\d{1,3}$/.test(text)) return Number(text.replace("/", ""));
  findings.refuse(`${path}${key}`, text, "write a prefix length, like /24");
  return undefined;
}
