// What a leader has told the daemons, for tests that have none: whereabouts is away, nothing is paused, and these ranges are sliced.
import { isApiError } from "../../src/kube/errors.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { type ConfigMap, configMaps } from "../../src/ledger/resources.ts";
import { slicedKey, type SlicedRanges, writeSlicedRanges } from "../../src/ledger/sliced-ranges.ts";
import { stateObject } from "../../src/ledger/state.ts";

export interface ToldState extends Partial<SlicedRanges> {
  readonly coexistence?: boolean;
  readonly paused?: string;
}

export function toldState({ coexistence = false, paused = "", version = 1, ranges = [] }: ToldState = {}): ConfigMap {
  const { data, ...object } = stateObject("kube-system", { coexistence, why: "a test", paused });
  return { ...object, data: { ...data, [slicedKey]: writeSlicedRanges({ version, ranges }) } };
}

/** What others have written beside it stays. */
export async function tellState(client: KubeClient, told: ToldState = {}): Promise<void> {
  const { metadata, data } = toldState(told);
  try {
    await client.create(configMaps, { metadata, data: data! });
  } catch (error) {
    if (!isApiError(error, "already-exists")) throw error;
    const { namespace = "", name = "" } = metadata;
    await client.patch(configMaps, { namespace, name }, { type: "merge", body: { data } });
  }
}
