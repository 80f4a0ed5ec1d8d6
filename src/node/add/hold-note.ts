// Why an address was given, as it is kept with the hold: one line of JSON that `holdfast explain` reads.
import type { Candidate, Grant } from "../../ipam/request.ts";
import { formatTrace } from "../../ipam/trace.ts";
import { orNone } from "../../net/or-none.ts";

interface Why {
  /** The network's `name`: GC frees only holds of the same name. */
  readonly network: string;
  /** The way in which it was chosen: src/ipam/request.ts. */
  readonly why: string;
  readonly early?: true;
  /** Why lower or listed addresses were passed over. */
  readonly passed?: readonly string[];
}

/** The note as a whole has room for 1 KiB. */
const longest = 1000;
const passedMax = 4;

export function whyOf(network: string, grant: Grant, { address, early }: Candidate): string {
  // A candidate after the first was another's when it was asked for; the trace is of the decision.
  const why = String(address) === String(grant.address) ? grant.why : `${grant.why}, after a conflict`;
  const passed = formatTrace(grant.trace(passedMax));
  const whole: Why = { network, why, ...(early && { early }), ...(passed.length > 0 && { passed }) };
  const text = JSON.stringify(whole);
  return text.length <= longest ? text : JSON.stringify({ network, why, ...(early && { early }) });
}

/** The network that a note names; undefined for a note of another writer. */
export function networkOf(why: string | undefined): string | undefined {
  const { network } = orNone(() => JSON.parse(why ?? "") as Partial<Why>) ?? {};
  return typeof network === "string" ? network : undefined;
}
