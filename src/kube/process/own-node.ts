// The Node of a machine without a kubelet: registered, kept Ready while this process runs, registered again if somebody
// deletes it. As a kubelet would, it also completes the deletion of pods on this node.
//
// Promised: the object is there and Ready before `register` ends. Not promised: that anything runs the pods.
import { asError } from "../abort.ts";
import { type Clock, sleep, timestamp } from "../clock.ts";
import type { Condition } from "../conditions.ts";
import { keyOf, type KubeObject, parseKey } from "../meta.ts";
import { defineResource } from "../resource.ts";
import type { KubeClient } from "../rest.ts";
import { unless } from "../unless.ts";
import type { Runnable } from "./stages.ts";

type NodeCondition = Partial<Condition> & { readonly lastHeartbeatTime?: string };

interface Node extends KubeObject {
  spec?: object;
  status?: { conditions?: NodeCondition[]; addresses?: object[] };
}

const nodes = defineResource<Node>({ group: "", version: "v1", kind: "Node", namespaced: false });
const pods = defineResource<KubeObject>({ group: "", version: "v1", kind: "Pod", namespaced: true });

export interface OwnNodeOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** A machine's name; `nodeNameOf` makes it one of a Node. */
  readonly name: string;
  /** Who keeps it Ready, for the eyes that read it: `holdfast up`. */
  readonly keeper: string;
  /** Nothing of this pod is left on the machine. */
  readonly isOver: (podUid: string) => boolean;
  readonly onError: (error: Error) => void;
}

/** Kubelets renew as often; a tenth of what a Node may be silent before others take it for lost. */
const beatMs = 10_000;

/** As kubelets make it: small letters; what no name of an object may contain becomes a dash. */
export function nodeNameOf(hostname: string): string {
  const parts = hostname
    .toLowerCase()
    .split(".")
    .map((part) => part.replaceAll(/[^a-z0-9-]/g, "-").replaceAll(/^-+|-+$/g, ""));
  return parts.filter((part) => part !== "").join(".") || "localhost";
}

export class OwnNode {
  readonly #options: OwnNodeOptions;

  constructor(options: OwnNodeOptions) {
    this.#options = options;
  }

  readonly keep: Runnable = {
    name: "own node",
    run: async (signal) => {
      while (await sleep(this.#options.clock, beatMs, signal)) {
        try {
          await this.register(signal);
          await this.#endPods(signal);
        } catch (error) {
          if (!signal.aborted) this.#options.onError(asError(error));
        }
      }
    },
  };

  async register(signal: AbortSignal): Promise<void> {
    const { client, name } = this.#options;
    const found = await client.lookUp(nodes, { name }, { signal });
    const labels = { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" };
    const node = found ?? (await client.create(nodes, { metadata: { name, labels }, spec: {} }, { signal }));
    const body = { status: this.#status(node.status?.conditions ?? []) };
    await client.patch(nodes, { name }, { type: "strategic", body }, { signal, subresource: "status" });
  }

  #status(before: readonly NodeCondition[]): Node["status"] {
    const { clock, name, keeper } = this.#options;
    const now = timestamp(clock.wallMs());
    const last = before.find(({ type }) => type === "Ready");
    const since = last?.status === "True" ? (last.lastTransitionTime ?? now) : now;
    const ready: NodeCondition = {
      type: "Ready",
      status: "True",
      reason: "HoldfastReady",
      message: `${keeper} runs on this machine and keeps this Node; it starts no containers`,
      lastHeartbeatTime: now,
      lastTransitionTime: since,
    };
    return { conditions: [ready], addresses: [{ type: "Hostname", address: name }] };
  }

  /** Those whose grace is over and of which nothing is left here. */
  async #endPods(signal: AbortSignal): Promise<void> {
    const { client, clock, name, isOver } = this.#options;
    const { items } = await client.list(pods, { fieldSelector: `spec.nodeName=${name}`, signal });
    for (const { metadata } of items) {
      const { uid = "", deletionTimestamp } = metadata;
      if (deletionTimestamp === undefined || Date.parse(deletionTimestamp) > clock.wallMs() || !isOver(uid)) continue;
      const options = { gracePeriodSeconds: 0, preconditions: { uid }, signal };
      await unless(["not-found", "conflict"], client.delete(pods, parseKey(keyOf({ metadata })), options));
    }
  }
}
