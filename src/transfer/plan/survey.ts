// What a plan is made of: every pool, record of an address, network and slice of the cluster, read once, as values.
// An object that cannot be read is named and left alone: it stays where it is.
import type { z } from "zod";

import { ObjectError } from "../../api/error.ts";
import { type HoldObject, holdKind } from "../../api/holds/hold.ts";
import { type Reservation, reservationKind } from "../../api/holds/reservation.ts";
import { type Kind, type KindObject, parseObject } from "../../api/kind.ts";
import { type ReadMetadata, describeObject } from "../../api/metadata.ts";
import { type IPPool, ipPoolKind } from "../../api/pools/ip-pool.ts";
import { type NodeSlicePool, nodeSlicePoolKind } from "../../api/slices/node-slice-pool.ts";
import { poolNamespaceOf } from "../../cluster/coexistence-word.ts";
import {
  type NetworkAttachmentDefinition,
  holds,
  ipPools,
  networkAttachmentDefinitions,
  nodeSlicePools,
  reservations,
} from "../../cluster/resources.ts";
import { fetchState } from "../../cluster/state.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { attempt } from "../../net/coded-error.ts";

export interface Survey {
  /** Where whereabouts keeps its objects: kube-system as a rule. */
  readonly systemNamespace: string;
  readonly pools: readonly IPPool[];
  readonly reservations: readonly Reservation[];
  readonly holds: readonly HoldObject[];
  readonly definitions: readonly NetworkAttachmentDefinition[];
  readonly slices: readonly NodeSlicePool[];
  /** Sentences: which object, what is wrong. */
  readonly unreadable: readonly string[];
}

type RawSurvey = Pick<Survey, "systemNamespace" | "definitions"> & {
  readonly [key in "pools" | "reservations" | "holds" | "slices"]: readonly unknown[];
};

export function surveyOf(raw: RawSurvey): Survey {
  const unreadable: string[] = [];
  const each = <S extends z.ZodType<KindObject>>(kind: Kind<S>, values: readonly unknown[]): z.infer<S>[] =>
    values.flatMap((value) =>
      attempt(
        ObjectError,
        () => [parseObject(kind, value)],
        ({ message }) => {
          unreadable.push(message);
          return [];
        },
      ),
    );
  return {
    ...raw,
    pools: each(ipPoolKind, raw.pools),
    reservations: each(reservationKind, raw.reservations),
    holds: each(holdKind, raw.holds),
    slices: each(nodeSlicePoolKind, raw.slices),
    unreadable,
  };
}

/** Kind and `namespace/name`: tells any two objects of a survey from each other, and names one in a sentence. */
export function objectId({ kind, metadata }: { readonly kind: string; readonly metadata: ReadMetadata }): string {
  return describeObject(kind, metadata);
}

/** A kind that the server does not have is a kind of which there is nothing. */
export async function readSurvey(client: KubeClient, systemNamespace: string, signal: AbortSignal): Promise<Survey> {
  // One after the other: a page of a thousand pools is large, and nothing here is in a hurry.
  const state = await fetchState(client, { namespace: systemNamespace, signal });
  return surveyOf({
    systemNamespace: poolNamespaceOf(state, systemNamespace),
    pools: await client.listAll(ipPools, { signal }),
    reservations: await client.listAll(reservations, { signal }),
    holds: await client.listAll(holds, { signal }),
    definitions: await client.listAll(networkAttachmentDefinitions, { signal }),
    slices: await client.listAll(nodeSlicePools, { signal }),
  });
}
