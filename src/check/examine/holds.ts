// Holds against pods, nodes and StatefulSets, and against each other. Pure.
import { describeOwner } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";
import { contains } from "../../net/prefix.ts";
import { defaultLimits, judge } from "../../pools/leaks/judge.ts";
import { factsFrom, judgeOnce, nodesOf } from "../../pools/leaks/live-facts.ts";
import { doublesOf } from "../../pools/leaks/superseded.ts";
import type { NetworkUse } from "../../pools/networks.ts";
import { describeHeld, type PoolHold, heldKey, isNameless } from "../../pools/pool-hold.ts";
import { type Finding, finding, found } from "../finding.ts";
import type { Snapshot } from "../snapshot.ts";

export function examineHolds(snapshot: Snapshot): Finding[] {
  const doubles = doublesOf(snapshot.held, snapshot.index);
  return [
    ...[...doubles].map(([key, all]) => twoAddresses(key.slice(key.lastIndexOf(" ") + 1), all)),
    ...leaksOf(snapshot, [...doubles.values()]),
    ...snapshot.held.flatMap((held) => cooled(held, snapshot.nowMs)),
    ...snapshot.held.flatMap(nameless),
    ...snapshot.held.flatMap(usedTwice),
    ...gateways(snapshot),
  ];
}

function leaksOf(snapshot: Snapshot, doubles: readonly (readonly PoolHold[])[]): Finding[] {
  const leases = [...snapshot.slices.leases.values()].map(({ object }) => object);
  const nodes = nodesOf(judgeOnce(snapshot), snapshot.nodes, leases);
  const ofHold = new Map(doubles.flatMap((all) => all.map((held) => [heldKey(held), all] as const)));
  return snapshot.held.flatMap((held): Finding[] => {
    const facts = factsFrom(snapshot, nodes, held, { lastNode: "", doubles: ofHold.get(heldKey(held)) ?? [] });
    const judged = judge(held, facts, undefined, snapshot.nowMs, defaultLimits);
    if (judged.outcome === "keep") return [];
    return found("leaked", "error", [describeHeld(held)], {
      message: `${held.hold.address} is held for ${describeOwner(held.hold.owner)}, but ${judged.why}.`,
      remedy: "The controller frees it after a second look; holdfast check --repair does so now, after looking twice.",
      repair: { kind: "free", held },
    });
  });
}

function twoAddresses(pool: string, all: readonly PoolHold[]): Finding {
  const addresses = all.map(({ hold }) => hold.address.toString()).join(" and ");
  return finding("two-addresses", "warning", all.map(describeHeld), {
    message: `${describeOwner(all[0]!.hold.owner)} holds ${addresses}, all of IPPool ${pool}.`,
    remedy: "Where the pod's network-status shows one of them, the other is freed as leaked; otherwise delete the pod.",
  });
}

/** A node found it when it made its holds again (docs/node.md). */
function usedTwice(held: PoolHold): Finding[] {
  const { hold, usedBy } = held;
  if (usedBy === undefined || held.cooling !== undefined) return [];
  return found("held-by-another", "error", [describeHeld(held)], {
    message: `${hold.address} is held by ${describeOwner(hold.owner)}, and ${usedBy} used it before the API server lost its hold.`,
    remedy: "Two may use it: delete one of the pods, and it gets another address.",
  });
}

/** Nothing frees it but a person. */
function nameless(held: PoolHold): Finding[] {
  if (!isNameless(held) || held.cooling !== undefined) return [];
  return found("unreadable", "warning", [describeHeld(held)], {
    message: `${held.hold.address} is held, and its record names no pod: whereabouts of old wrote such.`,
    remedy: `See whether a pod uses it (network-status); if none does, delete ${describeHeld(held)} and its entry in the IPPool.`,
  });
}

/** The controller deletes it within seconds. */
const coolingSlackMs = 60_000;

function cooled(held: PoolHold, nowMs: number): Finding[] {
  if (held.cooling === undefined || held.cooling.untilMs + coolingSlackMs > nowMs) return [];
  return found("cooled", "warning", [describeHeld(held)], {
    message: `${held.hold.address} has cooled down since ${new Date(held.cooling.untilMs).toISOString()}, and its object is still there.`,
    remedy: "Harmless, but is a controller running? holdfast check --repair deletes it.",
    repair: { kind: "delete-cooled", held },
  });
}

function gateways({ held, networks, index }: Snapshot): Finding[] {
  return gatewaysHeld(networks.uses, ({ namespace, names }, gateway) => {
    const holder = held.find(
      (each) =>
        each.cooling === undefined &&
        each.namespace === namespace &&
        each.hold.address.toString() === gateway.toString() &&
        index.of(each.hold, each.namespace).some(({ name }) => names.includes(name)),
    );
    return holder && { object: describeHeld(holder), words: `${describeOwner(holder.hold.owner)} holds it` };
  });
}

/** `holderOf`: the object that says it, and the words for a sentence; undefined: nobody holds it. */
export function gatewaysHeld(
  uses: readonly NetworkUse[],
  holderOf: (use: NetworkUse, gateway: Address) => { readonly object: string; readonly words: string } | undefined,
): Finding[] {
  return uses.flatMap((use): Finding[] => {
    const { config, range, definition } = use;
    const { gateway } = config;
    const holder = gateway !== undefined && contains(range.prefix, gateway) ? holderOf(use, gateway) : undefined;
    if (holder === undefined) return [];
    return found("gateway-held", "error", [holder.object, `NetworkAttachmentDefinition ${definition}`], {
      message: `${gateway} is the gateway of ${definition}, and ${holder.words}.`,
      remedy: "Set exclude_gateway: true, then delete the pod; its successor gets another address.",
    });
  });
}
