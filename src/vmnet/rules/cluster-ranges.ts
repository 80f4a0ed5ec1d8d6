// Ranges that the cluster uses itself, for its services and pods: no pool of VMs overlaps them (V3).
import { orNone } from "../../net/or-none.ts";
import { parseCidr, type Prefix } from "../../net/prefix.ts";

export interface ClusterRange {
  readonly prefix: Prefix;
  /** For a sentence: `the cluster's service range (ServiceCIDR kubernetes)`. */
  readonly what: string;
}

/** What an operator names. Throws a sentence for what is no CIDR. */
export function namedRanges(texts: readonly string[]): readonly ClusterRange[] {
  return texts.map((text) => ({ prefix: parseCidr(text).prefix, what: "the cluster's own range (--cluster-cidrs)" }));
}

/** What objects of others say; what cannot be read is none. */
export function rangesIn(texts: readonly string[] | undefined, what: string): readonly ClusterRange[] {
  return (texts ?? []).flatMap((text) => {
    const prefix = orNone(() => parseCidr(text).prefix);
    return prefix === undefined ? [] : [{ prefix, what }];
  });
}
