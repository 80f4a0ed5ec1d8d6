// What is ours on a claim, and what somebody else may change of it. Pure.
import * as marks from "../../api/claims/claim-marks.ts";
import { describeObject } from "../../api/metadata.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { AdmissionReply } from "../../kube/admission/admission-review.ts";

/** They say whose a claim is: a wrong one gives an address to another, or frees it. */
const ownAnnotations = [
  marks.claimOwnerAnnotation,
  marks.claimNicAnnotation,
  marks.claimInstanceAnnotation,
  marks.claimVmAnnotation,
  marks.continuesAnnotation,
  marks.adoptedFromAnnotation,
] as const;
/** Written by a person on a claim made by hand, and by us on one of ours. */
const sharedAnnotations = [marks.requestedAnnotation] as const;
const sharedLabels = [marks.macLabelName] as const;

type Marked = Pick<StoredClaim, "metadata">;

/** What only we write, as it is called in a sentence. */
export function marksOf({ metadata: { annotations = {}, labels = {}, finalizers = [] } }: Marked): readonly string[] {
  return [
    ...ownAnnotations.filter((name) => name in annotations).map((name) => `the annotation ${name}`),
    ...(marks.managedLabelName in labels ? [`the label ${marks.managedLabelName}`] : []),
    ...(finalizers.includes(marks.claimFinalizer) ? [`the finalizer ${marks.claimFinalizer}`] : []),
  ];
}

function changedMarks(before: Marked, after: Marked): readonly string[] {
  const isManaged = before.metadata.labels?.[marks.managedLabelName] === "true";
  const annotations = isManaged ? [...ownAnnotations, ...sharedAnnotations] : ownAnnotations;
  const labels = isManaged ? [marks.managedLabelName, ...sharedLabels] : [marks.managedLabelName];
  const had = before.metadata.finalizers?.includes(marks.claimFinalizer) ?? false;
  const has = after.metadata.finalizers?.includes(marks.claimFinalizer) ?? false;
  return [
    ...annotations
      .filter((name) => before.metadata.annotations?.[name] !== after.metadata.annotations?.[name])
      .map((name) => `the annotation ${name}`),
    ...labels
      .filter((name) => before.metadata.labels?.[name] !== after.metadata.labels?.[name])
      .map((name) => `the label ${name}`),
    ...(had === has ? [] : [`the finalizer ${marks.claimFinalizer}`]),
  ];
}

/** It says why, and says so anew: one that was left from an earlier change opens nothing. */
export function asksToOverride(before: Marked | undefined, after: Marked): boolean {
  const text = after.metadata.annotations?.[marks.overrideAnnotation] ?? "";
  return text.trim() !== "" && text !== before?.metadata.annotations?.[marks.overrideAnnotation];
}

export interface UpdateFacts {
  readonly before: StoredClaim;
  readonly after: StoredClaim;
  /** Ourselves, or the cluster's own housekeeping. */
  readonly isTrusted: boolean;
  /** The requester overrides, and may. */
  readonly isOverridden: boolean;
}

/** Only the fields that we know of the spec: a newer definition may have others that change. */
export function judgeUpdate({ before, after, isTrusted, isOverridden }: UpdateFacts): AdmissionReply {
  const subject = describeObject("IPAMClaim", before.metadata);
  for (const field of ["network", "interface"] as const) {
    if (before.spec[field] === after.spec[field]) continue;
    const message =
      `${subject}: spec.${field} is ${JSON.stringify(before.spec[field])} and cannot become ${JSON.stringify(after.spec[field])}: ` +
      "addresses are held for what it says. Make another claim, and delete this one.";
    return { allowed: false, code: 422, reason: "Invalid", message };
  }
  const changed = isTrusted ? [] : changedMarks(before, after);
  if (changed.length === 0) return { allowed: true };
  if (isOverridden) return { allowed: true, warnings: [`${subject}: ${changed.join(", ")} changed by hand.`] };
  const message =
    `${subject}: ${changed.join(", ")} is Holdfast's to write, since it says whose the address is and keeps it. Leave it as it is; ` +
    `\`holdfast adopt\` and \`holdfast claims takeover\` give a claim another owner. Who may \`override\` ipamclaims says why in the annotation ${marks.overrideAnnotation}, in the same request.`;
  return { allowed: false, code: 403, reason: "Forbidden", message };
}
