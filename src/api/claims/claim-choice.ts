// Whether a VM takes part in persistent addresses, by the label on it or on its template. Pure.
import type { ReadMetadata } from "../metadata.ts";
import { persistenceLabelName } from "./claim-marks.ts";

interface Labelled {
  readonly metadata?: Pick<ReadMetadata, "labels"> | undefined;
}

type ChoosingVm = Labelled & { readonly spec?: { readonly template?: Labelled | undefined } | undefined };

/** "false" on either keeps the VM out; where labels are demanded, "true" lets it in. A VMI has its template's. */
export function takesPart(vm: ChoosingVm | undefined, vmi: Labelled | undefined, needsLabel: boolean): boolean {
  const places = [vm?.metadata, vm?.spec?.template?.metadata, vmi?.metadata];
  const labels = new Set(places.map((metadata) => metadata?.labels?.[persistenceLabelName]));
  if (labels.has("false")) return false;
  return !needsLabel || labels.has("true");
}
