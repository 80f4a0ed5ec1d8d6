// The record of an address, read from either kind, and made anew for another domain. What others wrote into it stays.
import { ObjectError } from "../../api/error.ts";
import {
  coolingOf,
  networkAnnotation,
  ownerKindAnnotation,
  ownerUidAnnotation,
  partOf,
  poolAnnotation,
} from "../../api/holds/hold-marks.ts";
import { holdName, holdOfObject } from "../../api/holds/hold-object.ts";
import type { HoldObject } from "../../api/holds/hold.ts";
import { holdOfReservation } from "../../api/holds/reservation-hold.ts";
import { reservationName } from "../../api/holds/reservation-name.ts";
import type { Reservation } from "../../api/holds/reservation.ts";
import { parseDomain } from "../../api/pools/domain.ts";
import { picked } from "../../kube/meta.ts";
import type { Address } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";

export type AddressObject = Reservation | HoldObject;

export interface AddressRecord {
  readonly object: AddressObject;
  readonly namespace: string;
  readonly address: Address;
  /** `network_name` of a reservation; undefined for a Hold. */
  readonly network?: string;
  /** namespace/name of the pool whose domain a Hold is in; undefined for a reservation. */
  readonly poolDomain?: string;
  /** Who has it, for comparison and for people. */
  readonly owner: string;
  readonly isCooling: boolean;
  /** What the record says of its pool; undefined: nothing. */
  readonly pool?: string;
}

/** A sentence where the record cannot be read. */
export function readRecord(object: AddressObject, networks: ReadonlySet<string>): AddressRecord | string {
  const { namespace = "", annotations } = object.metadata;
  const pool = annotations?.[poolAnnotation];
  const isCooling = coolingOf(object.metadata) !== undefined;
  const read = (): AddressRecord => {
    const { domain, address } = object.kind === "Hold" ? holdOfObject(object) : holdOfReservation(object, networks);
    const parts = parseDomain(domain);
    return {
      object,
      namespace,
      address,
      isCooling,
      owner: ownerText(object),
      ...(pool !== undefined && { pool }),
      ...(parts.scope === "network" && { network: parts.network }),
      ...(parts.scope === "pool" && { poolDomain: `${parts.namespace}/${parts.name}` }),
    };
  };
  return attempt(ObjectError, read, ({ message }) => message);
}

/** The name first. A pod goes by name and interface: whereabouts recorded no UID. A claim and a NIC go by UID too. */
export function ownerText({ metadata, ...object }: AddressObject): string {
  const { [ownerKindAnnotation]: noted = "pod", [ownerUidAnnotation]: notedUid = "" } = metadata.annotations ?? {};
  const owner =
    object.kind === "Hold"
      ? { ...object.spec.owner, podref: `${object.spec.owner.namespace}/${object.spec.owner.name}` }
      : { kind: noted, uid: notedUid, podref: object.spec.podref, port: object.spec.ifname ?? "" };
  const { kind, uid, podref, port } = owner;
  return kind === "pod" ? `${podref} ${port}`.trim() : `${podref} ${kind}:${uid}:${port}:${partOf(metadata)}`;
}

export interface NewPlace {
  readonly namespace: string;
  readonly network: string;
  /** namespace/name of the pool in whose domain a Hold will be. */
  readonly poolDomain?: string;
  /** Key: namespace/name of a pool now. Value: afterwards. */
  readonly renamed: ReadonlyMap<string, string>;
}

export function movedRecord(record: AddressRecord, to: NewPlace): AddressObject {
  const { object, address, pool } = record;
  const annotations = {
    ...object.metadata.annotations,
    ...(object.kind !== "Hold" && { [networkAnnotation]: to.network }),
    ...(pool !== undefined && { [poolAnnotation]: to.renamed.get(pool) ?? pool }),
  };
  const metadata = {
    namespace: to.namespace,
    ...picked(object.metadata, "labels", "finalizers"),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
  if (object.kind !== "Hold") {
    const { apiVersion, kind, spec } = object;
    return { apiVersion, kind, metadata: { ...metadata, name: reservationName(to.network, address) }, spec };
  }
  const domain = `pool:${to.poolDomain ?? ""}`;
  const { apiVersion, kind, spec } = object;
  return { apiVersion, kind, metadata: { ...metadata, name: holdName(domain, address) }, spec: { ...spec, domain } };
}
