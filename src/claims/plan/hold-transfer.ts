// How a hold comes to another claim, or to another owner's identity, without being anybody's in between. Pure.
import { identityOf } from "../../api/claims/claim-marks.ts";
import type { HoldNote } from "../../ipam/ledger.ts";
import type { ClaimOwner } from "../../ipam/owner.ts";
import type { ClaimHold } from "./facts.ts";
import type { ClaimView, Family, LooseHold } from "./family.ts";
import type { Life, WantedNic } from "./owners.ts";
import type { ClaimStep } from "./steps.ts";

export function passingSteps(family: Family): readonly ClaimStep[] {
  const { claims, loose } = family;
  return [
    ...claims.flatMap((view) =>
      view.holds.filter((hold) => !isIdentified(view, hold)).map((hold) => passTo(view, hold)),
    ),
    ...loose.flatMap((hold) => {
      const heir = heirOf(hold, family);
      return heir === undefined ? [] : [passTo(heir, hold.hold)];
    }),
  ];
}

/** The claim that was made anew for the same; undefined where there is none, or it has another address in its place. */
export function heirOf(loose: LooseHold, family: Family): ClaimView | undefined {
  const heir = namesakeOf(loose, family);
  return heir === undefined || isReplaced(loose, heir) ? undefined : heir;
}

/** The claim that was made anew has taken another address before this one was passed to it. */
export function hasReplacement(loose: LooseHold, family: Family): boolean {
  const heir = namesakeOf(loose, family);
  return heir !== undefined && isReplaced(loose, heir);
}

function namesakeOf({ hold, nic, life }: LooseHold, { claims }: Family): ClaimView | undefined {
  if (life === undefined || nic === "") return undefined;
  const same = claims.filter((each) => each.kind === "owned" && each.life === life && each.nic === nic);
  return same.find(({ network }) => isOnNetwork(hold, network));
}

function isReplaced({ hold }: LooseHold, { holds }: ClaimView): boolean {
  return holds.some((each) => isInPlaceOf(each, hold));
}

/** The claim whose addresses one that is made for this NIC continues. */
export function continuedBy(life: Life, { nic, network = "" }: WantedNic, { loose }: Family): string | undefined {
  return loose.find((each) => each.life === life && each.nic === nic && isOnNetwork(each.hold, network))?.hold.hold
    .owner.uid;
}

/** Not known counts as the same: the NIC tells. */
export function isOnNetwork({ networks }: ClaimHold, other: string): boolean {
  return networks.length === 0 || other === "" || networks.includes(other);
}

/** From the same pool, and so for the same range. */
function isInPlaceOf({ hold: a }: ClaimHold, { hold: b }: ClaimHold): boolean {
  return a.domain === b.domain && a.address.family === b.address.family && a.note?.pool === b.note?.pool;
}

/** The hold's identity is the claim's; so it is for a claim that nobody alive owns. */
export function isIdentified({ kind, life, nic }: ClaimView, { hold }: ClaimHold): boolean {
  if (kind !== "owned" || life?.phase !== "alive" || nic === "") return true;
  return hold.note?.identity === identityOf(life.uid, nic);
}

function passTo({ uid, name, claim, life, nic }: ClaimView, hold: ClaimHold): ClaimStep {
  const { owner, note } = hold.hold;
  const part = owner.kind === "claim" ? owner.part : undefined;
  const to: ClaimOwner = {
    kind: "claim",
    uid,
    namespace: claim.metadata.namespace ?? "",
    name,
    ...(part !== undefined && { part }),
  };
  const identified: HoldNote = { ...note, ...(life !== undefined && { identity: identityOf(life.uid, nic) }) };
  return { kind: "pass", hold, to, note: identified };
}
