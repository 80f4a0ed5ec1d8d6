// Who of the users of an address is certainly over. Pure. The rules of leak collection: a pod that is gone from the API, or has ended, may
// still run on a node that nobody can reach.
import type { HoldUser } from "../../ipam/ledger.ts";
import { isDetached, type Target } from "./attachment.ts";
import type { ClaimHold } from "./facts.ts";
import type { Family } from "./family.ts";
import type { ClaimStep } from "./steps.ts";

/** Those that may still use it. */
export function remainingUsers({ hold }: ClaimHold, target: Target, family: Family): readonly HoldUser[] {
  return (hold.users ?? []).filter((user) => !isOver(user, target, family));
}

export function usersSteps(hold: ClaimHold, target: Target, family: Family): readonly ClaimStep[] {
  const users = remainingUsers(hold, target, family);
  return users.length === (hold.hold.users ?? []).length ? [] : [{ kind: "users", hold, users }];
}

function isOver(user: HoldUser, target: Target, family: Family): boolean {
  // A list that cannot be read counts as one user whom nobody can ask for.
  if (user.uid === "") return false;
  const pod = family.facts.pods.find(({ uid }) => uid === user.uid);
  if (pod !== undefined && !pod.isOver) return isDetached(pod, target, family);
  const state = pod === undefined ? family.facts.userOf(user) : "over";
  if (state === "alive" || state === "unknown") return false;
  return family.facts.node(user.node) !== "unreachable";
}
