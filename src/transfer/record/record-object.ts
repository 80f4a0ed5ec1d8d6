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
import type { Address } from "../../net/address.ts";

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
  const rest = {
    object,
    namespace,
    isCooling: coolingOf(object.metadata) !== undefined,
    ...(pool !== undefined && { pool }),
  };
  try {
    if (object.kind === "Hold") {
      const { domain, address } = holdOfObject(object);
      const parts = parseDomain(domain);
      const owner = ownerText(object);
      return parts.scope === "pool"
        ? { ...rest, address, owner, poolDomain: `${parts.namespace}/${parts.name}` }
        : { ...rest, address, owner };
    }
    const { domain, address } = holdOfReservation(object, networks);
    const parts = parseDomain(domain);
    const owner = ownerText(object);
    return { ...rest, address, owner, network: parts.scope === "network" ? parts.network : "" };
  } catch (error) {
    if (error instanceof ObjectError) return error.message;
    throw error;
  }
}

/**
 * Who has it, the name first. A pod goes by name and interface, since whereabouts recorded no UID; a claim and a NIC by their UID too: a namesake is
 * another.
 */
export function ownerText(object: AddressObject): string {
  if (object.kind === "Hold") {
    const { kind, namespace, name, port, uid } = object.spec.owner;
    return textOf(object, { kind, uid, podref: `${namespace}/${name}`, port });
  }
  const { [ownerKindAnnotation]: kind = "pod", [ownerUidAnnotation]: uid = "" } = object.metadata.annotations ?? {};
  return textOf(object, { kind, uid, podref: object.spec.podref, port: object.spec.ifname ?? "" });
}

interface OwnerParts {
  readonly kind: string;
  readonly uid: string;
  readonly podref: string;
  readonly port: string;
}

function textOf({ metadata }: AddressObject, { kind, uid, podref, port }: OwnerParts): string {
  if (kind === "pod") return `${podref} ${port}`.trim();
  return `${podref} ${kind}:${uid}:${port}:${partOf(metadata)}`;
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
  const isHold = object.kind === "Hold";
  const annotations = {
    ...object.metadata.annotations,
    ...(!isHold && { [networkAnnotation]: to.network }),
    ...(pool !== undefined && { [poolAnnotation]: to.renamed.get(pool) ?? pool }),
  };
  const metadata = {
    namespace: to.namespace,
    ...(object.metadata.labels && { labels: object.metadata.labels }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
    ...(object.metadata.finalizers && { finalizers: object.metadata.finalizers }),
  };
  if (!isHold) {
    const { apiVersion, kind, spec } = object;
    return { apiVersion, kind, metadata: { ...metadata, name: reservationName(to.network, address) }, spec };
  }
  const domain = `pool:${to.poolDomain ?? ""}`;
  const { apiVersion, kind, spec } = object;
  return { apiVersion, kind, metadata: { ...metadata, name: holdName(domain, address) }, spec: { ...spec, domain } };
}
