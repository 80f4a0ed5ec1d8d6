// An OverlappingRangeIPReservation as a hold, and back. The name says the network and the address: the API server keeps
// names unique, so nothing else may. Annotations only decide where an old IPv6 name has several meanings. What
// whereabouts has no field for (the kind of owner, a UID that is no pod's) is in annotations, which it ignores.
import { describeDomain, type Hold } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import { ObjectError } from "../error.ts";
import { apiVersionOf } from "../kind.ts";
import { describeObject } from "../metadata.ts";
import { formatDomain, parseDomain } from "../pools/domain.ts";
import {
  markedHold,
  marksOf,
  networkAnnotation,
  ownerKindAnnotation,
  ownerUidAnnotation,
  partOf,
} from "./hold-marks.ts";
import { ownerOfRecord, ownerRecord } from "./owner-record.ts";
import { readReservationName, reservationName, type ReservationNameReading } from "./reservation-name.ts";
import { type Reservation, reservationKind } from "./reservation.ts";

/** The object to create. Its domain must be a network: others have the kind Hold. `node`: whose daemon writes it. */
export function reservationOf(hold: Omit<Hold, "version">, namespace: string, node?: string): Reservation {
  const domain = parseDomain(hold.domain);
  if (domain.scope !== "network") {
    const words = `${describeDomain(hold.domain)} has no OverlappingRangeIPReservations, only networks have: record ${hold.address} as a Hold.`;
    throw new ObjectError("bad-domain", words);
  }
  const { kind, uid, podref, port, containerId } = ownerRecord(hold.owner);
  const marks = marksOf(hold.owner, hold, node);
  return {
    apiVersion: apiVersionOf(reservationKind) as Reservation["apiVersion"],
    kind: "OverlappingRangeIPReservation",
    metadata: {
      name: reservationName(domain.network, hold.address),
      namespace,
      labels: marks.labels,
      annotations: {
        ...marks.annotations,
        [networkAnnotation]: domain.network,
        ...(kind !== "pod" && { [ownerKindAnnotation]: kind, [ownerUidAnnotation]: uid }),
      },
    },
    spec: {
      podref,
      ...(port !== "" && { ifname: port }),
      ...(containerId !== "" && { containerid: containerId }),
      ...(kind === "pod" && uid !== "" && { poduid: uid }),
    },
  };
}

/** `networks`: names in use; where the object's name has several meanings, the only one among these is taken. */
export function holdOfReservation(reservation: Reservation, networks?: ReadonlySet<string>): Hold {
  return holdAs(reservation, meaningOf(reservation, networks));
}

/** A hold for everything that the name may mean: one as a rule, none where it is named by no address. */
export function holdsOfReservation(reservation: Reservation): Hold[] {
  const readings = readReservationName(reservation.metadata.name ?? "");
  const noted = reservation.metadata.annotations?.[networkAnnotation];
  const meant = readings.filter(({ network }) => network === noted);
  return (meant.length === 1 ? meant : readings).map((reading) => holdAs(reservation, reading));
}

function holdAs(reservation: Reservation, { network, address }: ReservationNameReading): Hold {
  const domain = formatDomain({ scope: "network", network });
  const said = { domain, address, owner: ownerOf(reservation) };
  return markedHold("OverlappingRangeIPReservation", reservation.metadata, said);
}

function meaningOf({ metadata }: Reservation, networks?: ReadonlySet<string>): ReservationNameReading {
  const readings = readReservationName(metadata.name ?? "");
  const noted = metadata.annotations?.[networkAnnotation];
  const ofNoted = readings.filter(({ network }) => network === noted);
  const inUse = readings.filter(({ network }) => networks?.has(network));
  const [only] = [readings, ofNoted, inUse].find((some) => some.length === 1) ?? [];
  if (only !== undefined) return only;
  const object = describeObject("OverlappingRangeIPReservation", metadata);
  if (readings.length === 0) {
    const words = `${object}: the name does not end with an address, so it holds none. Delete it if nobody knows it.`;
    throw new ObjectError("bad-name", words);
  }
  const meanings = readings.map(({ network, address }) => `${address} of network ${JSON.stringify(network)}`);
  const words = `${object}: the name can mean ${meanings.join(" or ")}. Annotate it with ${networkAnnotation}, or keep all of them.`;
  throw new ObjectError("ambiguous-name", words);
}

function ownerOf({ metadata, spec }: Reservation): Owner {
  const { [ownerKindAnnotation]: kind, [ownerUidAnnotation]: uid = "" } = metadata.annotations ?? {};
  const { podref, ifname: port = "", containerid: containerId = "", poduid } = spec;
  const record = { podref, port, containerId, uid: poduid ?? uid };
  return ownerOfRecord({ ...record, part: partOf(metadata), kind: kindOf(metadata, kind) });
}

/** A kind of a later release, taken for a pod, would be looked for among pods, and its address freed. */
function kindOf(metadata: Reservation["metadata"], kind = "pod"): Owner["kind"] {
  if (kind === "pod" || kind === "claim" || kind === "nic") return kind;
  const fault = `${describeObject("OverlappingRangeIPReservation", metadata)}: ${ownerKindAnnotation} is ${JSON.stringify(kind)}, which is none of pod, claim and nic.`;
  const remedy = "Its address stays held; the release that wrote it can free it.";
  throw new ObjectError("bad-object", `${fault} ${remedy}`);
}
