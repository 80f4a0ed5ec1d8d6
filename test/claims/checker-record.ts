// Every change of the objects that an address's life depends on, from the API server's watches, in the order of the
// writes. Versions of one server are numbers of one row, whatever the kind: they order the streams.
//
// Promised: no change is left out, else `whole` fails. The checker has streams of its own, which no test disturbs.
import { setTimeout as pause } from "node:timers/promises";

import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { until } from "../lab/wait.ts";

export type Kind = "claim" | "reservation" | "hold" | "pod" | "vm" | "vmi" | "node";

export interface Change {
  readonly kind: Kind;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: bigint;
  readonly object: AnyObject;
}

const resources: Readonly<Record<Kind, Resource<AnyObject>>> = {
  claim: kindOf("k8s.cni.cncf.io", "v1alpha1", "ipamclaims", "IPAMClaim"),
  reservation: kindOf(
    "whereabouts.cni.cncf.io",
    "v1alpha1",
    "overlappingrangeipreservations",
    "OverlappingRangeIPReservation",
  ),
  hold: kindOf("holdfast.io", "v1alpha1", "holds", "Hold"),
  pod: kindOf("", "v1", "pods", "Pod"),
  vm: kindOf("kubevirt.io", "v1", "virtualmachines", "VirtualMachine"),
  vmi: kindOf("kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance"),
  node: { ...kindOf("", "v1", "nodes", "Node"), namespaced: false },
};
const kinds = Object.keys(resources) as Kind[];

function kindOf(group: string, version: string, plural: string, kind: string): Resource<AnyObject> {
  return defineResource<AnyObject>({ group, version, plural, kind, namespaced: true });
}

export class CheckerRecord {
  readonly #client: KubeClient;
  readonly #stop = new AbortController();
  readonly #changes: Change[] = [];
  /** Key: kind and UID. The version that its stream told last. */
  readonly #latest = new Map<string, string>();
  #streams: Promise<void>[] = [];
  #failure: Error | undefined;

  private constructor(client: KubeClient) {
    this.#client = client;
  }

  /** What is there already counts as made now. */
  static async start(client: KubeClient): Promise<CheckerRecord> {
    const record = new CheckerRecord(client);
    for (const kind of kinds) {
      const { items, metadata } = await client.list(resources[kind]);
      for (const object of items) record.#note(kind, "ADDED", object);
      record.#streams.push(record.#follow(kind, metadata.resourceVersion ?? "0"));
    }
    return record;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#streams);
  }

  /** All changes so far, once the streams have told everything that the server has; the cluster must be at rest. */
  async whole(): Promise<readonly Change[]> {
    await until(async () => (await this.#isCurrent()) && (await this.#isCurrent()), {
      what: "the checker's watches to tell all that the server has",
      everyMs: 25,
    });
    return this.#changes.toSorted((a, b) => Number(a.version - b.version));
  }

  async #isCurrent(): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure;
    for (const kind of kinds) {
      const { items } = await this.#client.list(resources[kind]);
      const told = [...this.#latest.keys()].filter((key) => key.startsWith(`${kind} `)).length;
      if (told !== items.length) return false;
      if (items.some(({ metadata }) => this.#latest.get(`${kind} ${metadata.uid}`) !== metadata.resourceVersion))
        return false;
    }
    return true;
  }

  async #follow(kind: Kind, from: string): Promise<void> {
    const { signal } = this.#stop;
    let version = from;
    while (!signal.aborted) {
      try {
        for await (const event of this.#client.watch(resources[kind], { resourceVersion: version, signal })) {
          if (event.type === "BOOKMARK") version = event.resourceVersion;
          else version = this.#note(kind, event.type, event.object);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#failure = error as Error;
        return;
      }
      await pause(5);
    }
  }

  #note(kind: Kind, type: Change["type"], object: AnyObject): string {
    const { uid, resourceVersion = "0" } = object.metadata;
    this.#changes.push({ kind, type, version: BigInt(resourceVersion), object });
    if (type === "DELETED") this.#latest.delete(`${kind} ${uid}`);
    else this.#latest.set(`${kind} ${uid}`, resourceVersion);
    return resourceVersion;
  }
}
