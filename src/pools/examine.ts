// All inconsistencies between pools, holds, networks and pods. Pure: a snapshot in, findings out.
import { examineClaims } from "./examine-claims.ts";
import { examineHolds } from "./examine-holds.ts";
import { examineMirrors } from "./examine-mirrors.ts";
import { examinePods } from "./examine-pods.ts";
import { examinePools } from "./examine-pools.ts";
import { examineSlices } from "./examine-slices.ts";
import type { Finding } from "./finding.ts";
import type { Snapshot } from "./snapshot.ts";

/** Those first that --repair must do first: what runs without a hold, before anything is freed. */
export function examine(snapshot: Snapshot): Finding[] {
  return [
    ...snapshot.unreadable.map(({ object, why }): Finding => ({
      code: "unreadable",
      severity: "error",
      objects: [object],
      message: why,
      remedy: "Correct or delete it, as the sentence says.",
    })),
    ...snapshot.networks.unreadable.map(({ definition, why }): Finding => ({
      code: "unreadable",
      severity: "warning",
      objects: [`NetworkAttachmentDefinition ${definition}`],
      message: why,
      remedy: "Correct it, or complete it in the flat file of the nodes, which check does not see.",
    })),
    ...snapshot.networks.ignored.map(({ definition, why }): Finding => ({
      code: "setting-ignored",
      severity: "warning",
      objects: [`NetworkAttachmentDefinition ${definition}`],
      message: why,
      remedy: "Correct it, as the sentence says; addresses are handed out without it, as whereabouts does.",
    })),
    ...examinePods(snapshot),
    ...examinePools(snapshot),
    ...examineHolds(snapshot),
    ...examineClaims(snapshot),
    ...examineSlices(snapshot.slices),
    ...examineMirrors(snapshot),
  ];
}
