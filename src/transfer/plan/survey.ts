// What a plan is made of: every pool, record of an address, network and slice of the cluster, read once, as values.
//
// An object that cannot be read is named and left alone: it stays where it is.
import type { z } from "zod";

import { ObjectError } from "../../api/error.ts";
import { type HoldObject, holdKind } from "../../api/holds/hold.ts";
import { type Reservation, reservationKind } from "../../api/holds/reservation.ts";
import { type Kind, type KindObject, parseObject } from "../../api/kind.ts";
import { type IPPool, ipPoolKind } from "../../api/pools/ip-pool.ts";
import { type NodeSlicePool, nodeSlicePoolKind } from "../../api/slices/node-slice-pool.ts";
import type { AnyObject } from "../../kube/meta.ts";

/** A NetworkAttachmentDefinition, as far as it is read. */
export interface AttachmentDefinition extends AnyObject {
  spec?: { config?: string };
}

export interface Survey {
  /** Where whereabouts keeps its objects: kube-system as a rule. */
  readonly systemNamespace: string;
  readonly pools: readonly IPPool[];
  readonly reservations: readonly Reservation[];
  readonly holds: readonly HoldObject[];
  readonly definitions: readonly AttachmentDefinition[];
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
    values.flatMap((value) => {
      try {
        return [parseObject(kind, value)];
      } catch (error) {
        if (!(error instanceof ObjectError)) throw error;
        unreadable.push(error.message);
        return [];
      }
    });
  return {
    systemNamespace: raw.systemNamespace,
    pools: each(ipPoolKind, raw.pools),
    reservations: each(reservationKind, raw.reservations),
    holds: each(holdKind, raw.holds),
    definitions: raw.definitions,
    slices: each(nodeSlicePoolKind, raw.slices),
    unreadable,
  };
}

interface Named {
  readonly metadata: { readonly namespace?: string | undefined; readonly name?: string | undefined };
}

/** Kind and `namespace/name`: tells any two objects of a survey from each other. */
export function objectId(object: Named & { readonly kind: string }): string {
  return `${object.kind} ${objectKey(object)}`;
}

/** `namespace/name`: the key of every map here. */
export function objectKey({ metadata }: Named): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}
