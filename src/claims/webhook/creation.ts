// Whether somebody may create a claim. Pure.
import { describeObject } from "../../api/metadata.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { AdmissionReply } from "../../kube/admission/admission-review.ts";
import { claimsLeft, describeQuota } from "../leader/quota.ts";
import { marksOf } from "./marks.ts";

/** A network attachment definition, as far as a claim may mean it. */
export interface KnownNetwork {
  readonly namespace: string;
  readonly name: string;
  /** The name in its configuration. */
  readonly network: string;
}

export interface CreationFacts {
  readonly claim: StoredClaim;
  readonly namespace: string;
  /** Every definition of the cluster; undefined: they are not known, and nothing is refused for them. */
  readonly networks: readonly KnownNetwork[] | undefined;
  /** How many claims the namespace may have, and how many it has. */
  readonly limit: number | undefined;
  readonly count: number;
  /** The requester overrides marks and networks, or restores, and may. */
  readonly isOverridden: boolean;
}

/** Velero's: a claim may precede its network and has old marks. Anybody can write it, so it needs the right to override. */
const restoreLabelName = "velero.io/restore-name";

export function saysRestored({ metadata }: StoredClaim): boolean {
  return (metadata.labels?.[restoreLabelName] ?? "") !== "";
}

export function judgeCreation(facts: CreationFacts): AdmissionReply {
  const { claim, namespace, networks, limit, count, isOverridden } = facts;
  const subject = describeObject("IPAMClaim", { namespace, name: claim.metadata.name ?? claim.metadata.generateName });
  const marks = marksOf(claim);
  if (marks.length > 0 && !isOverridden) return refusal(403, "Forbidden", marked(subject, marks));
  if (limit !== undefined && claimsLeft(limit, count) === 0) {
    return refusal(403, "Forbidden", `${subject}: ${describeQuota(namespace, limit, count)}`);
  }
  const network = claim.spec.network;
  if (networks === undefined || networks.some((each) => each.network === network)) return { allowed: true };
  const why = `${subject}: spec.network is ${JSON.stringify(network)}, and no network attachment definition has that name in its configuration${advice(network, namespace, networks)}`;
  return isOverridden ? { allowed: true, warnings: [why] } : refusal(422, "Invalid", why);
}

function marked(subject: string, marks: readonly string[]): string {
  return (
    `${subject} carries ${marks.join(", ")}, which Holdfast writes on the claims that it makes: leave them out. ` +
    "To bring back a saved claim with its address, see `holdfast adopt`; a restore with them needs the right `override` on ipamclaims."
  );
}

function refusal(code: number, reason: string, message: string): AdmissionReply {
  return { allowed: false, code, reason, message };
}

const maxNames = 5;
/** Two letters that differ or are missing: a slip of the hand. */
const nearby = 2;

/** Names of the claim's own namespace only: what networks others have is not everybody's to know. */
function advice(network: string, namespace: string, networks: readonly KnownNetwork[]): string {
  const own = networks.filter((each) => each.namespace === namespace && each.network !== "");
  const meant = own.find(({ name }) => name === network);
  if (meant !== undefined)
    return `. The definition ${namespace}/${meant.name} calls its network ${meant.network}: write that.`;
  const names = [...new Set(own.map((each) => each.network))].sort();
  const near = names.filter((name) => isNear(name, network));
  const shown = (near.length > 0 ? near : names).slice(0, maxNames);
  if (shown.length === 0) return ": make the definition first.";
  const more = near.length === 0 && names.length > maxNames ? ", ..." : "";
  return `. Those of ${namespace} are ${shown.join(", ")}${more}.`;
}

/** At most `nearby` letters to change, add or take away; names are 253 letters at most, so a row of numbers is enough. */
export function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > nearby) return false;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const swap = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return (row.at(-1) ?? 0) <= nearby;
}
