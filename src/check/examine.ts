// All inconsistencies between pools, holds, networks and pods. Pure: a snapshot in, findings out.
import { readSlicedRanges, slicedKey } from "../cluster/sliced-ranges.ts";
import { stateName } from "../cluster/state.ts";
import { examineClaims } from "./examine/claim-holds.ts";
import { examineHolds } from "./examine/holds.ts";
import { examineMirrors } from "./examine/mirrors.ts";
import { examinePods } from "./examine/pods.ts";
import { examinePools } from "./examine/pools.ts";
import { examineSlices } from "./examine/slices.ts";
import { type Finding, finding, found } from "./finding.ts";
import type { Snapshot } from "./snapshot.ts";

/** Findings that --repair must do first come first: pods that run without a hold, before anything is freed. */
export function examine(snapshot: Snapshot): Finding[] {
  return [
    ...unknownState(snapshot),
    ...snapshot.unreadable.map(({ object, why }): Finding =>
      finding("unreadable", "error", [object], { message: why, remedy: "Correct or delete it, as the sentence says." }),
    ),
    ...snapshot.networks.unreadable.map(({ definition, why }): Finding =>
      finding("unreadable", "warning", [`NetworkAttachmentDefinition ${definition}`], {
        message: why,
        remedy: "Correct it, or complete it in the flat file of the nodes, which check does not see.",
      }),
    ),
    ...snapshot.networks.ignored.map(({ definition, why }): Finding =>
      finding("setting-ignored", "warning", [`NetworkAttachmentDefinition ${definition}`], {
        message: why,
        remedy: "Correct it, as the sentence says; addresses are handed out without it, as whereabouts does.",
      }),
    ),
    ...examinePods(snapshot),
    ...examinePools(snapshot),
    ...examineHolds(snapshot),
    ...examineClaims(snapshot),
    ...examineSlices(snapshot.slices),
    ...examineMirrors(snapshot),
  ];
}

/** Daemons do not act by an unreadable state: shared ranges wait, and only the daemons' logs say why. */
function unknownState({ state, systemNamespace }: Snapshot): Finding[] {
  if (readSlicedRanges(state) !== undefined) return [];
  const object = `ConfigMap ${systemNamespace}/${stateName}`;
  const text = state?.data?.[slicedKey];
  const why =
    state === undefined
      ? "does not exist"
      : `has ${text === undefined ? "no key" : "a key that cannot be read:"} ${slicedKey}`;
  return found("state-unknown", "error", [object], {
    message: `${object} ${why}, so daemons hand out nothing of shared ranges (code 11); slices go on.`,
    remedy:
      "The controller writes it within seconds, from NodeSlicePools, slices and Leases: is one running? Its log says why not.",
  });
}
