// Whether a node's slices may be taken on an operator's word that it is off, and which. Pure; release-node.ts does it.
// Nothing proves the word; signs of life refuse it: a Node that reports, a renewed Lease, a slice whose daemon writes.
import { freshMs } from "../../cluster/fencing.ts";
import { describeOwner } from "../../ipam/owner.ts";
import { columnLines } from "../../log/columns.ts";
import { CodedError } from "../../net/coded-error.ts";
import { counted } from "../../net/counted.ts";
import type { SliceView } from "./slice-view.ts";
import { leaseAgeMs, type SlicesSnapshot } from "./snapshot.ts";
import { stateOf } from "./table.ts";

type ReleaseErrorCode =
  /** Its Node is Ready, or its daemon has been heard. */
  | "node-alive"
  | "not-confirmed"
  /** Fenced, and not removed yet. */
  | "not-removed"
  | "called-off";

export class ReleaseError extends CodedError<ReleaseErrorCode> {}

/** Held addresses named for one slice; the rest is counted. A screen has 24 to 60 lines. */
const namedMax = 10;

/** Throws where something says that the node lives. */
export function assertReleasable(snapshot: SlicesSnapshot, node: string): void {
  const { nodes, leases, nowMs } = snapshot;
  const ready = nodes.get(node)?.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status === "True") {
    throw new ReleaseError(
      "node-alive",
      `Node ${node} is Ready: its pods use these addresses. To take its slices back, cordon and drain it, switch it off, then ask again.`,
    );
  }
  const ageMs = leaseAgeMs(leases.get(node), nowMs);
  if (ageMs !== undefined && ageMs < freshMs) {
    throw new ReleaseError(
      "node-alive",
      `The daemon of node ${node} renewed its Lease ${Math.floor(ageMs / 1000)} s ago: it may be handing out addresses now. ` +
        `Switch the node off, and ask again when that is ${freshMs / 60_000} minutes ago.`,
    );
  }
}

/** Throws where the node was heard of between two looks: whatever the clocks say, it lives. */
export function assertSilent(before: SlicesSnapshot, after: SlicesSnapshot, node: string): void {
  const [earlier, later] = [before.leases.get(node), after.leases.get(node)];
  if (later !== undefined && (earlier?.renewedMs !== later.renewedMs || earlier?.journal !== later.journal)) {
    throw new ReleaseError(
      "node-alive",
      `The daemon of node ${node} has just renewed its Lease (its clock is behind): it is not off. Switch it off, then ask again.`,
    );
  }
  const words = new Map(before.slices.map((slice) => [slice.key, slice]));
  const spoken = after.slices.find((slice) => {
    const known = words.get(slice.key);
    return known?.uid === slice.uid && voiceOf(known) !== voiceOf(slice);
  });
  if (spoken === undefined) return;
  const what = `The daemon of node ${spoken.node} has just written IPPool ${spoken.key}: it is not off`;
  throw new ReleaseError("node-alive", `${what}. Switch it off, then ask again.`);
}

/** What its node's daemon writes on the slice. */
function voiceOf({ word, entries }: SliceView): string {
  return JSON.stringify([word, entries.map(({ address, owner }) => [String(address), owner])]);
}

/** The slices that go, and the addresses that mirrors show in them. `records`: of shared ranges. */
export function releaseLines(snapshot: SlicesSnapshot, node: string, records: number): string[] {
  const { slices, nodes, leases, nowMs } = snapshot;
  const ageMs = leaseAgeMs(leases.get(node), nowMs);
  const heard = ageMs === undefined ? "was never heard" : `was last heard ${Math.floor(ageMs / 1000)} s ago`;
  const object = nodes.has(node) ? "is not Ready" : "has no Node object";
  const held = slices.reduce((sum, { entries }) => sum + entries.length, 0);
  const rows = slices.map((slice) => [
    `${slice.namespace}/${slice.pool}`,
    String(slice.block),
    stateOf(slice),
    String(slice.entries.length),
  ]);
  return [
    `Node ${node} ${object}; its daemon ${heard}. It has ${counted(slices.length, "slice")} with ${counted(held, "address")} held, as far as it could tell:`,
    ...(rows.length === 0 ? [] : columnLines([["POOL", "SLICE", "STATE", "HELD"], ...rows]).map((line) => `  ${line}`)),
    ...slices.flatMap(heldLines),
    `Of shared ranges its pods hold ${counted(records, "address")}; and it counts as off for the claims of its virtual machines.`,
    "All of these are given to others when it has been silent for five minutes and its pods are gone. If one still runs there, an address is given twice.",
    "It is given slices anew when its daemon is heard again.",
  ];
}

function heldLines({ entries, block }: SliceView): string[] {
  const lines = entries.slice(0, namedMax).map(({ address, owner }) => `  ${address}  ${describeOwner(owner)}`);
  const more = entries.length - namedMax;
  return more > 0 ? [...lines, `  ... and ${more} more of ${block}`] : lines;
}
