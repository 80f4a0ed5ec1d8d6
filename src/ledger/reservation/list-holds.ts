// Every object behind a hold, of both kinds: for leak collection, mirror, quotas, `check` and a daemon's start.
// Promised: an unreadable object is handed over as such, never passed over. Not promised: a snapshot; the two kinds are
// listed one after the other. A reservation under an old IPv6 name of two meanings comes once for each of them.
import { aliasAnnotation, type Cooling, coolingOf, heldSelector, nodeLabel } from "../../api/holds/hold-marks.ts";
import { nodeLabelName, podNamespaceLabelName } from "../../api/holds/hold-marks.ts";
import { holdOfObject } from "../../api/holds/hold-object.ts";
import { holdKind } from "../../api/holds/hold.ts";
import { holdsOfReservation } from "../../api/holds/reservation-hold.ts";
import { reservationKind } from "../../api/holds/reservation.ts";
import { parseObject } from "../../api/kind.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import { holds, reservations, type StoredHold, type StoredReservation } from "../../cluster/resources.ts";
import type { KubeClient } from "../../kube/rest.ts";

export type HeldObject = StoredReservation | StoredHold;

export interface ListedHold extends RecordedHold {
  /** It is nobody's: `hold.owner` is who had it last. */
  readonly cooling?: Cooling;
  readonly object: HeldObject;
  readonly unreadable?: undefined;
}

interface UnreadableHold {
  /** A sentence: which object, what is wrong, what to do. */
  readonly unreadable: string;
  readonly object: HeldObject;
}

type Listed = ListedHold | UnreadableHold;

export interface HeldObjectsOptions {
  /** Absent: of all namespaces. */
  readonly namespace?: string;
  /** Written by this node's daemon. */
  readonly node?: string;
  /** Of owners in this namespace. */
  readonly podNamespace?: string;
  /** Cooling ones, too. Default: no. */
  readonly includeCooling?: boolean;
  /** `0`: as old as the server's cache may be, and as cheap. Default: what is there now. */
  readonly resourceVersion?: string;
  readonly onVersion?: (version: string | undefined) => void;
  readonly signal?: AbortSignal;
}

export async function* listHolds(client: KubeClient, options: HeldObjectsOptions = {}): AsyncIterable<Listed> {
  const { namespace, signal, resourceVersion } = options;
  const old = resourceVersion && { resourceVersion, pageSize: 0 };
  const scope = { namespace, signal, labelSelector: selectorOf(options), ...old };
  for (const kind of [reservations, holds] as const) {
    const { items, metadata } = await client.list<HeldObject>(kind, scope);
    options.onVersion?.(metadata?.resourceVersion);
    for (const object of items) yield* readHeld(object);
  }
}

/** Readings of frozen objects of caches, which pools and claims share: 10,000 cost half a second each time. */
const readings = new WeakMap<HeldObject, readonly Listed[]>();

/** What one object says. Nothing for the alias of another (docs/objects.md): the other says it. */
export function readHeld(object: HeldObject): readonly Listed[] {
  const reading = readings.get(object) ?? readAnew(object);
  // Caches freeze all of an object; one that is frozen outside only could still change within.
  if ([object, object.metadata, object.spec].every(Object.isFrozen)) readings.set(object, reading);
  return reading;
}

function readAnew(object: HeldObject): readonly Listed[] {
  const { metadata } = object;
  if (metadata.annotations?.[aliasAnnotation] !== undefined) return [];
  const cooling = coolingOf(metadata);
  try {
    const asHold = () => [holdOfObject(parseObject(holdKind, object))];
    const asReservation = () => holdsOfReservation(parseObject(reservationKind, object));
    const found = object.kind === holdKind.kind ? asHold() : asReservation();
    const what = `${reservationKind.kind} ${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    const nameless = `${what}: the name does not end with an address, so it holds none. Delete it if nobody knows it.`;
    if (found.length === 0) return [{ unreadable: nameless, object }];
    return found.map((hold) => ({ hold, namespace: metadata.namespace ?? "", object, ...(cooling && { cooling }) }));
  } catch (error) {
    return [{ unreadable: error instanceof Error ? error.message : String(error), object }];
  }
}

function selectorOf({ node, podNamespace, includeCooling = false }: HeldObjectsOptions): string | undefined {
  const ofNode = node !== undefined && `${nodeLabelName}=${nodeLabel(node)}`;
  const ofPods = podNamespace !== undefined && `${podNamespaceLabelName}=${podNamespace}`;
  const terms = [ofNode, ofPods, !includeCooling && heldSelector].filter((term) => term !== false);
  return terms.length === 0 ? undefined : terms.join(",");
}
