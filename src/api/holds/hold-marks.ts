// What the object of a hold carries beside the fields of its kind, the same for both kinds (docs/decisions/0011):
// labels to narrow a search, annotations for later readers. Names and contents decide; no mark does, except `cooling`.
import type { Hold, HoldNote, HoldUser } from "../../ipam/ledger.ts";
import { type Owner, type OwnerKey, ownerKey } from "../../ipam/owner.ts";
import { macLabelName } from "../claims/claim-marks.ts";
import { holdfastGroup } from "../kind.ts";
import type { ReadMetadata } from "../metadata.ts";
import { hashLabel, ownerLabel, ownerLabelName } from "./owner-record.ts";
import { versionOf } from "./version.ts";

export { ownerLabelName };
export const nodeLabelName = `${holdfastGroup}/node`;
export const podNamespaceLabelName = `${holdfastGroup}/pod-namespace`;
export const coolingLabelName = `${holdfastGroup}/cooling`;
const coolingUntilAnnotation = `${holdfastGroup}/cooling-until`;
const lastOwnerAnnotation = `${holdfastGroup}/last-owner`;
const partAnnotation = `${holdfastGroup}/part`;
export const poolAnnotation = `${holdfastGroup}/pool`;
const keeperAnnotation = `${holdfastGroup}/keeper`;
const identityAnnotation = `${holdfastGroup}/identity`;
/** A hash of the identity: what a claim that is made anew finds the address of the one before by. */
export const identityLabelName = `${holdfastGroup}/identity`;
const usersAnnotation = `${holdfastGroup}/users`;
/** The pod whose sandbox uses the address too: its hold was lost, and this one given (src/node/holds/reassert.ts). */
export const usedByAnnotation = `${holdfastGroup}/also-used-by`;
const shownAnnotation = `${holdfastGroup}/shown`;
const vouchedAnnotation = `${holdfastGroup}/vouched`;
const whyAnnotation = `${holdfastGroup}/why`;
/** On reservations and pools: the network_name, for names that can mean several things. */
export const networkAnnotation = `${holdfastGroup}/network-name`;
/** On reservations: what whereabouts has no field for. */
export const ownerKindAnnotation = `${holdfastGroup}/owner-kind`;
export const ownerUidAnnotation = `${holdfastGroup}/owner-uid`;
/** On a reservation under whereabouts' IPv6 name: the name of the reservation that it stands beside. */
export const aliasAnnotation = `${holdfastGroup}/alias-of`;
/** On an IPPool: every entry has its hold. */
export const adoptedAnnotation = `${holdfastGroup}/adopted`;
/** On an IPPool: the domain that all its networks hand out in. */
export const domainAnnotation = `${holdfastGroup}/domain`;
export const keptFinalizer = `${holdfastGroup}/kept`;

/** Selects what is held: all but what rests. */
export const heldSelector = `!${coolingLabelName}`;

/** etcd has room for more; a page of 1,000 holds should not be a page of explanations. */
const longestWhy = 1024;
const longestLabel = 63;
const labelValue = /^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$/;

/** The node's name as a label's value; one that is longer than a label may be is cut, with a hash of the whole. */
export function nodeLabel(node: string): string {
  if (node.length <= longestLabel) return node;
  return `${node.slice(0, longestLabel - 17).replace(/[-_.]+$/, "")}-${hashLabel(node)}`;
}

/** A label has no colons. */
export function macLabel(mac: string): string {
  return mac.replaceAll(":", "-");
}

/** The part of an object's metadata that is read here. */
type Marked = Pick<ReadMetadata, "labels" | "annotations">;

export interface Marks {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

/** The marks of a hold that is being written. `node`: whose daemon writes it. */
export function marksOf(owner: Owner, hold: Pick<Hold, "note" | "users"> = {}, node?: string): Marks {
  const { note = {}, users = [] } = hold;
  const part = owner.kind === "nic" ? 0 : (owner.part ?? 0);
  return {
    labels: {
      [ownerLabelName]: ownerLabel(ownerKey(owner)),
      ...(node !== undefined && node !== "" && { [nodeLabelName]: nodeLabel(node) }),
      // What others recorded may be no namespace at all, and the server would refuse the label.
      ...(isLabelValue(owner.namespace) && { [podNamespaceLabelName]: owner.namespace }),
      ...(note.identity !== undefined && { [identityLabelName]: hashLabel(note.identity) }),
      ...(note.mac !== undefined && { [macLabelName]: macLabel(note.mac) }),
    },
    annotations: {
      ...(part > 0 && { [partAnnotation]: String(part) }),
      ...(note.pool !== undefined && { [poolAnnotation]: note.pool }),
      ...(note.keeper !== undefined && { [keeperAnnotation]: note.keeper }),
      ...(note.identity !== undefined && { [identityAnnotation]: note.identity }),
      ...(users.length > 0 && { [usersAnnotation]: JSON.stringify(users) }),
      ...(note.shown !== undefined && { [shownAnnotation]: note.shown }),
      ...(note.vouched !== undefined && { [vouchedAnnotation]: note.vouched }),
      ...(note.why !== undefined && { [whyAnnotation]: shortened(note.why) }),
    },
  };
}

/** Marks that say whose a hold is: what rests is nobody's, and no search for an owner, node or namespace finds it. */
const ownership: ReadonlySet<string> = new Set([
  ownerLabelName,
  nodeLabelName,
  podNamespaceLabelName,
  keeperAnnotation,
  identityAnnotation,
  macLabelName,
  usersAnnotation,
  usedByAnnotation,
  shownAnnotation,
  vouchedAnnotation,
  whyAnnotation,
]);

/** Every mark of ours: what a rewritten hold must not inherit from the one before it. */
const heldMarks: ReadonlySet<string> = new Set([
  ...ownership,
  coolingLabelName,
  coolingUntilAnnotation,
  lastOwnerAnnotation,
  partAnnotation,
  poolAnnotation,
  networkAnnotation,
  ownerKindAnnotation,
  ownerUidAnnotation,
  aliasAnnotation,
]);

/** Labels or annotations that others put there. */
export function foreignMarks(marks: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return without(marks, heldMarks);
}

/** The hold that an object of this kind records, with what its marks say. */
export function markedHold(kind: string, metadata: ReadMetadata, hold: Omit<Hold, "version">): Hold {
  const note = noteOf(metadata);
  const users = usersOf(metadata);
  return { ...hold, version: versionOf(kind, metadata), ...(note && { note }), ...(users && { users }) };
}

function noteOf({ annotations = {}, labels }: Marked): HoldNote | undefined {
  const { [poolAnnotation]: pool, [keeperAnnotation]: keeper, [whyAnnotation]: why } = annotations;
  const { [identityAnnotation]: identity, [shownAnnotation]: shown, [vouchedAnnotation]: vouched } = annotations;
  const mac = labels?.[macLabelName]?.replaceAll("-", ":");
  const said = Object.entries({ pool, keeper, identity, mac, shown, vouched, why }).filter(
    ([, text]) => text !== undefined,
  );
  return said.length === 0 ? undefined : Object.fromEntries(said);
}

/** Undefined: none are noted. What cannot be read counts as a user whom nobody can ask for: the address is not free. */
function usersOf({ annotations }: Marked): readonly HoldUser[] | undefined {
  const text = annotations?.[usersAnnotation];
  if (text === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed) && parsed.every(isUser)) return parsed;
  } catch {
    // as below
  }
  return [{ uid: "", name: "", node: "" }];
}

function isUser(value: unknown): value is HoldUser {
  const { uid, name, node } = (value ?? {}) as Record<string, unknown>;
  return [uid, name, node].every((each) => typeof each === "string");
}

/** Which of several addresses of one interface; 0 where nothing is noted. */
export function partOf({ annotations }: Marked): number {
  const text = annotations?.[partAnnotation] ?? "";
  return /^\d{1,4}$/.test(text) ? Number(text) : 0;
}

export interface Cooling {
  readonly untilMs: number;
  /** May have it back at once. */
  readonly lastOwner: OwnerKey;
}

/** Undefined: it is held. A label without a time that can be read has cooled long ago. */
export function coolingOf({ labels, annotations }: Marked): Cooling | undefined {
  if (labels?.[coolingLabelName] !== "true") return undefined;
  const until = annotations?.[coolingUntilAnnotation] ?? "";
  return {
    untilMs: /^\d{1,15}$/.test(until) ? Number(until) : 0,
    lastOwner: (annotations?.[lastOwnerAnnotation] ?? "") as OwnerKey,
  };
}

/** The marks of an object that rests from now on. */
export function restingMarks({ labels, annotations }: Marked, { untilMs, lastOwner }: Cooling): Marks {
  return {
    labels: { ...without(labels, ownership), [coolingLabelName]: "true" },
    annotations: {
      ...without(annotations, ownership),
      [coolingUntilAnnotation]: String(Math.ceil(untilMs)),
      [lastOwnerAnnotation]: lastOwner,
    },
  };
}

function without(marks: Readonly<Record<string, string>> = {}, keys: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(Object.entries(marks).filter(([key]) => !keys.has(key)));
}

function isLabelValue(text: string): boolean {
  return text.length <= longestLabel && labelValue.test(text);
}

function shortened(why: string): string {
  return why.length <= longestWhy ? why : `${why.slice(0, longestWhy - 3)}...`;
}
