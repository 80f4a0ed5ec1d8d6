// Events of a plan: on a claim, on the VM or VMI that it is for. Pure.
import type { ClaimView, Family } from "./family.ts";
import type { Life } from "./lives.ts";
import type { ClaimEvent } from "./steps.ts";

export function claimEvent(
  { name, uid }: Pick<ClaimView, "name" | "uid">,
  type: ClaimEvent["type"],
  reason: string,
  message: string,
): ClaimEvent {
  return { kind: "event", on: "claim", name, uid, type, reason, message };
}

/** On the VM, else on the VMI; none where neither is there. */
export function ownerEvents(
  { facts }: Family,
  life: Life | undefined,
  type: ClaimEvent["type"],
  reason: string,
  message: string,
): readonly ClaimEvent[] {
  const on = life?.vm === undefined ? "vmi" : "vm";
  const uid = (life?.vm ?? life?.vmi)?.metadata.uid;
  return uid === undefined ? [] : [{ kind: "event", on, name: facts.name, uid, type, reason, message }];
}
