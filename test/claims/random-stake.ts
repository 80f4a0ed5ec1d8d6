// A claim made by hand and pods that refer to it in turn: the user of a namespace who wants an address and has no VM.
import { setTimeout as pause } from "node:timers/promises";

import type { KubeClient } from "../../src/kube/rest.ts";
import { claims } from "./claim-objects.ts";
import { find, remove } from "./kubevirt/edit.ts";
import type { NodePart } from "./kubevirt/kubelet.ts";
import { Launcher } from "./kubevirt/launcher.ts";
import { networksAnnotation, pods } from "./kubevirt/objects.ts";
import type { Chance } from "./random-source.ts";

export interface StakeOptions {
  readonly client: KubeClient;
  readonly kubelet: NodePart;
  readonly chance: Chance;
  readonly namespace: string;
  readonly name: string;
  /** Of the namespace. */
  readonly definition: string;
  /** The name in its CNI configuration. */
  readonly network: string;
  readonly nodes: () => readonly string[];
}

/** Between two things: the VMs are what a run is about. */
const restMs = 300;

export class Stake {
  readonly #options: StakeOptions;
  #pod: Launcher | undefined;
  #running: Promise<unknown> | undefined;
  readonly errors: Error[] = [];

  constructor(options: StakeOptions) {
    this.#options = options;
  }

  /** One thing. Says which. */
  async step(): Promise<string> {
    const { chance } = this.#options;
    await pause(chance.below(restMs));
    const isClaimed = (await find(this.#options.client, claims, this.#at)) !== undefined;
    if (this.#pod !== undefined) return chance.percent(70) ? this.#endPod() : this.#unclaim(isClaimed);
    if (!isClaimed) return this.#claim();
    return chance.percent(80) ? this.#startPod() : this.#unclaim(isClaimed);
  }

  async end(): Promise<void> {
    await this.#endPod();
    await this.#unclaim(true);
  }

  async #claim(): Promise<string> {
    const { client, network } = this.#options;
    await client.create(claims, { metadata: { ...this.#at }, spec: { network, interface: "" } });
    return "claim by hand";
  }

  async #unclaim(isClaimed: boolean): Promise<string> {
    if (isClaimed) await remove(this.#options.client, claims, this.#at);
    return "delete a claim made by hand";
  }

  async #startPod(): Promise<string> {
    const { client, kubelet, chance, namespace, name, definition, nodes } = this.#options;
    const element = { name: definition, namespace, interface: "net1", "ipam-claim-reference": name };
    const { metadata } = await client.create(pods, {
      metadata: {
        generateName: `${name}-`,
        namespace,
        annotations: { [networksAnnotation]: JSON.stringify([element]) },
      },
      spec: { restartPolicy: "Never", containers: [{ name: "c", image: "none" }], automountServiceAccountToken: false },
    });
    const { name: pod = "", uid = "" } = metadata;
    const made = new Launcher({ namespace, name: pod, uid, vmiUid: "", scheme: "ordinal" });
    this.#pod = made;
    await kubelet.bind(made, chance.pick(nodes()));
    this.#running = kubelet.run(made).catch((error: unknown) => void this.errors.push(error as Error));
    return "pod on a claim made by hand";
  }

  async #endPod(): Promise<string> {
    if (this.#pod === undefined) return "nothing";
    await this.#options.kubelet.finish(this.#pod);
    await this.#running;
    this.#pod = undefined;
    return "end of a pod on a claim made by hand";
  }

  get #at(): { readonly namespace: string; readonly name: string } {
    return { namespace: this.#options.namespace, name: this.#options.name };
  }
}
