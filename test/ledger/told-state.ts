// What a leader tells daemons, for tests without one: whereabouts is away, nothing is paused, these ranges are sliced.
import { poolNamespaceKey } from "../../src/cluster/coexistence-word.ts";
import { type ConfigMap, configMaps } from "../../src/cluster/resources.ts";
import { slicedKey, type SlicedRanges, writeSlicedRanges } from "../../src/cluster/sliced-ranges.ts";
import { stateObject } from "../../src/cluster/testing/state.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { KubeClient } from "../../src/kube/rest.ts";

export interface ToldState extends Partial<SlicedRanges> {
  readonly coexistence?: boolean;
  readonly paused?: string;
  readonly poolNamespace?: string;
}

export function toldState(told: ToldState = {}): ConfigMap {
  const { coexistence = false, paused = "", version = 1, ranges = [], poolNamespace } = told;
  const { data, ...object } = stateObject("kube-system", { coexistence, why: "a test", paused });
  const place = poolNamespace === undefined ? {} : { [poolNamespaceKey]: poolNamespace };
  return { ...object, data: { ...data, ...place, [slicedKey]: writeSlicedRanges({ version, ranges }) } };
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
