// The ConfigMap of the shared state, as a leader writes it that knows of nothing but these.
import type { ConfigMap } from "../resources.ts";
import { type State, stateName } from "../state.ts";

export function stateObject(namespace: string, { coexistence, why, paused }: State): ConfigMap {
  return { metadata: { namespace, name: stateName }, data: { coexistence: coexistence ? "on" : "off", why, paused } };
}
