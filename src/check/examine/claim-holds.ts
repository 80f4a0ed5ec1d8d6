// Holds of claims against the claims, pods and nodes that there are (docs/decisions/0014). Pure.
// Nothing here is repaired from outside: only the leader frees what a claim has, and it looks more than once.
import { continuesAnnotation } from "../../api/claims/claim-marks.ts";
import { hasEnded, type Pod } from "../../cluster/resources.ts";
import type { HoldUser } from "../../ipam/ledger.ts";
import { type ClaimOwner, describeOwner, ownerKey } from "../../ipam/owner.ts";
import { describeHeld, type PoolHold } from "../../pools/pool-hold.ts";
import { type Finding, finding, found, named } from "../finding.ts";
import type { Snapshot } from "../snapshot.ts";

type ClaimFacts = Pick<Snapshot, "held" | "claims" | "pods" | "nodes" | "index">;

interface ClaimHeld {
  readonly held: PoolHold;
  readonly owner: ClaimOwner;
  readonly users: readonly HoldUser[];
}

export function examineClaims(facts: ClaimFacts): Finding[] {
  const all = facts.held.flatMap((held): ClaimHeld[] => {
    const { owner, users = [] } = held.hold;
    return owner.kind === "claim" && held.cooling === undefined ? [{ held, owner, users }] : [];
  });
  const successors = new Map(
    [...facts.claims.values()].map((claim) => [claim.metadata.annotations?.[continuesAnnotation] ?? "", claim]),
  );
  return [
    ...all.flatMap((each) => gone(facts, each, successors.has(each.owner.uid))),
    ...all.flatMap(unreadableUsers),
    ...all.flatMap((each) => strandedUsers(facts, each)),
    ...doubles(facts, all),
  ];
}

/** By UID: a claim of the same name that was made later is another's. */
function gone(facts: ClaimFacts, { held, owner, users }: ClaimHeld, isContinued: boolean): Finding[] {
  if (facts.claims.has(owner.uid)) return [];
  const about = `${held.hold.address} is held for ${describeOwner(owner)} (${owner.uid}), which does not exist`;
  const objects = [describeHeld(held)];
  if (isContinued) {
    const remedy = "It is passed on within seconds; if it stays, is a controller running?";
    return found("claim-gone", "info", objects, { message: `${about}: a later claim continues it.`, remedy });
  }
  const alive = users.filter((user) => {
    const pod = podOfUser(facts, owner, user);
    return pod !== undefined && !hasEnded(pod);
  });
  if (alive.length > 0) {
    const message = `${about}; it is still used by ${named(alive.map(({ name }) => `pod ${owner.namespace}/${name}`))}.`;
    return found("claim-gone", "info", objects, { message, remedy: "It is freed when these pods are gone." });
  }
  const remedy =
    "The controller frees it when no user can be alive any more. If it stays, see its log, and whether a node in its users is unreachable: " +
    "if its machine is off, say so with holdfast slices release NODE, or taint it out-of-service.";
  return found("claim-gone", "warning", objects, { message: `${about}, and no pod uses it.`, remedy });
}

/** Written by hand, or by a later release: who uses it cannot be asked for. */
function unreadableUsers({ held, users }: ClaimHeld): Finding[] {
  if (!users.some(isUnknown)) return [];
  return found("unreadable", "warning", [describeHeld(held)], {
    message: `The users of ${held.hold.address} cannot be read, so it is never freed.`,
    remedy: `See which pods use it (network-status), then remove the annotation holdfast.io/users of ${describeHeld(held)}.`,
  });
}

function strandedUsers(facts: ClaimFacts, { held, owner, users }: ClaimHeld): Finding[] {
  const nodes = new Set(facts.nodes.map(({ metadata }) => metadata.name ?? ""));
  const stranded = users.filter(
    (user) => !isUnknown(user) && !nodes.has(user.node) && podOfUser(facts, owner, user) === undefined,
  );
  if (stranded.length === 0) return [];
  const list = named(stranded.map(({ name, node }) => `pod ${owner.namespace}/${name} on node ${node}`));
  return found("user-gone", "info", [describeHeld(held)], {
    message: `${held.hold.address} of ${describeOwner(owner)} names users whose pods and nodes are gone: ${list}.`,
    remedy: "The controller takes them out of the list when the node counts as off (docs/leaks.md): is one running?",
  });
}

/** One claim has one address of each range. Where ranges overlap, its parts are owners of their own. */
function doubles({ index }: ClaimFacts, all: readonly ClaimHeld[]): Finding[] {
  const places = all.flatMap((each) =>
    index.of(each.held.hold, each.held.namespace).map(({ key }) => ({ ...each, pool: key })),
  );
  const groups = Map.groupBy(places, ({ owner, pool }) => `${ownerKey(owner)} ${pool}`);
  return [...groups.values()]
    .filter((group) => group.length > 1)
    .map((group): Finding => {
      const [{ owner, pool }] = group as [(typeof places)[number]];
      const addresses = group.map(({ held }) => held.hold.address.toString()).join(" and ");
      const objects = group.map(({ held }) => describeHeld(held));
      return finding("two-addresses", "warning", objects, {
        message: `${describeOwner(owner)} holds ${addresses}, all of IPPool ${pool}.`,
        remedy:
          "See which one its pods use (network-status) and delete the object of the other, once nothing uses that one.",
      });
    });
}

function isUnknown({ uid, name }: HoldUser): boolean {
  return uid === "" || name === "";
}

function podOfUser({ pods }: ClaimFacts, { namespace }: ClaimOwner, { uid, name }: HoldUser): Pod | undefined {
  const pod = pods.get(`${namespace}/${name}`);
  return pod?.metadata.uid === uid ? pod : undefined;
}
