// The objects of one domain: which kind, under which name, and how a hold is written into one and read from it. Pure,
// but for `readObject`.
// Reading never fails: an object under an address's name holds the address, whatever is in it. An unreadable owner is
// one without a name, which nobody is.
import { aliasAnnotation, foreignMarks, keptFinalizer } from "../../api/holds/hold-marks.ts";
import { holdName, holdObjectOf } from "../../api/holds/hold-object.ts";
import { reservationOf } from "../../api/holds/reservation-hold.ts";
import { reservationName, reservationNamesToRead } from "../../api/holds/reservation-name.ts";
import { versionOf } from "../../api/holds/version.ts";
import { parseDomain } from "../../api/pools/domain.ts";
import { holds, reservations, stored } from "../../cluster/resources.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import { type DeepReadonly, type KubeObject, picked } from "../../kube/meta.ts";
import type { Resource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Signal } from "../../kube/unless.ts";
import { type Address, equal } from "../../net/address.ts";
import { type HeldObject, readHeld } from "./list-holds.ts";

export interface Records {
  readonly domain: Domain;
  readonly namespace: string;
  readonly resource: Resource<HeldObject>;
  nameOf(address: Address): string;
  /** whereabouts' own name of an IPv6 address, where a server takes it. */
  formerNameOf(address: Address): string | undefined;
  make(hold: NewHold, node?: string): HeldObject;
}

export type NewHold = Omit<Hold, "version" | "domain">;

/** Fields of `spec` that are written, of either kind; what others added stays. */
const writtenFields: ReadonlySet<string> = new Set(
  ["podref", "ifname", "containerid", "poduid"].concat("domain", "address", "owner", "containerId"),
);

const nobody: Owner = { kind: "pod", uid: "", namespace: "", name: "", interface: "" };

export function recordsOf(domain: Domain, namespace: string): Records {
  const parts = parseDomain(domain);
  const place = { domain, namespace };
  if (parts.scope !== "network") {
    return {
      ...place,
      resource: holds,
      nameOf: (address) => holdName(domain, address),
      formerNameOf: () => undefined,
      make: (hold, node) => stored(holdObjectOf({ ...hold, domain }, namespace, node)),
    };
  }
  return {
    ...place,
    resource: reservations,
    nameOf: (address) => reservationName(parts.network, address),
    formerNameOf: (address) => reservationNamesToRead(parts.network, address)[1],
    make: (hold, node) => stored(reservationOf({ ...hold, domain }, namespace, node)),
  };
}

export function readObject(client: KubeClient, { resource, namespace }: Records, name: string, signal: Signal) {
  return client.lookUp(resource, { namespace, name }, { signal });
}

export function readRecord(records: Records, address: Address, object: HeldObject): Hold {
  const own = holdsIn(records, object).find((hold) => equal(hold.address, address));
  if (own !== undefined) return own;
  const { kind = "object", metadata } = object;
  return { domain: records.domain, address, owner: nobody, version: versionOf(kind, metadata) };
}

export function holdsIn({ domain }: Records, object: HeldObject): Hold[] {
  return readHeld(object).flatMap((each) =>
    each.unreadable === undefined && each.hold.domain === domain ? [each.hold] : [],
  );
}

/** The object that was read, as if made anew, with what others added to it. Guarded by its uid and version. */
export function rewritten(found: HeldObject, made: HeldObject): HeldObject {
  const { labels, annotations, finalizers = [] } = found.metadata;
  const others = Object.entries(found.spec ?? {}).filter(([field]) => !writtenFields.has(field));
  return {
    ...found,
    ...picked(made, "apiVersion", "kind"),
    metadata: {
      ...found.metadata,
      labels: { ...foreignMarks(labels), ...made.metadata.labels },
      annotations: { ...foreignMarks(annotations), ...made.metadata.annotations },
      ...(made.metadata.finalizers && { finalizers: [...new Set([...finalizers, ...made.metadata.finalizers])] }),
    },
    spec: { ...Object.fromEntries(others), ...made.spec },
  } as HeldObject;
}

export function withFinalizer(object: HeldObject): HeldObject {
  return { ...object, metadata: { ...object.metadata, finalizers: [keptFinalizer] } };
}

/** It stands beside another, under whereabouts' own name of the address. */
export function isAlias({ metadata }: DeepReadonly<KubeObject>): boolean {
  return metadata.annotations?.[aliasAnnotation] !== undefined;
}

export function isKept({ metadata }: DeepReadonly<KubeObject>): boolean {
  return metadata.finalizers?.includes(keptFinalizer) === true;
}

/** Somebody deletes it, and nothing of ours keeps it: it will be gone, and what is written into it with it. */
export function isLeaving(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined && !isKept(object);
}
