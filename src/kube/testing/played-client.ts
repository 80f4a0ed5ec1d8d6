// A client of tests, some of whose calls are played; those that are made of others (`lookUp` of `get`) are its own.
import { KubeClient } from "../rest.ts";

export function playedClient(calls: { readonly [Call in keyof KubeClient]?: unknown }): KubeClient {
  return Object.assign(Object.create(KubeClient.prototype) as KubeClient, calls);
}
