// `holdfast demo`, put together: pods made at the API of `holdfast up`, and its daemon asked as a runtime asks it.
import { existsSync } from "node:fs";
import { hostname } from "node:os";

import { UsageError } from "../src/cli/cluster-command.ts";
import { connected } from "../src/cli/connection.ts";
import type { DemoOptions, DemoTold, DemoWork } from "../src/cli/local/demo.ts";
import { kubeconfigIn, socketIn } from "../src/cli/local/up-folder.ts";
import { type NetworkAttachmentDefinition, networkAttachmentDefinitions, pods } from "../src/cluster/resources.ts";
import { exchange, frameOf } from "../src/cni/socket-call.ts";
import { asError } from "../src/kube/abort.ts";
import type { KubeObject } from "../src/kube/meta.ts";
import { nodeNameOf } from "../src/kube/process/own-node.ts";
import type { KubeClient } from "../src/kube/rest.ts";

export const demo: DemoWork = {
  add: (options, names, told) =>
    played(options, async (player) => {
      for (const name of names) await player.add(name, told);
    }),
  del: (options, names, told) =>
    played(options, async (player) => {
      for (const name of names) await player.del(name, told);
    }),
};

interface CniBody {
  readonly ips?: readonly { readonly address: string }[];
  readonly msg?: string;
}

async function played(options: DemoOptions, work: (player: Player) => Promise<void>): Promise<void> {
  const { data, network } = options;
  const kubeconfig = kubeconfigIn(data);
  if (!existsSync(kubeconfig) || !existsSync(socketIn(data))) {
    throw new UsageError(`no \`holdfast up\` runs on ${data}: start one (npm start), or say --data of the other.`, 1);
  }
  await connected({ kubeconfig }, async (client, signal) => {
    const definition = await client.lookUp(networkAttachmentDefinitions, network, { signal });
    if (definition === undefined) {
      const words = `there is no network ${network.namespace}/${network.name}: kubectl get net-attach-def -A lists those that there are.`;
      throw new UsageError(words, 1);
    }
    await work(new Player(client, socketIn(data), definition, signal));
  });
}

/** Plays kubelet and runtime for pods of one network. */
class Player {
  readonly #client: KubeClient;
  readonly #socket: string;
  readonly #network: string;
  readonly #namespace: string;
  readonly #config: string;
  readonly #signal: AbortSignal;

  constructor(client: KubeClient, socket: string, definition: NetworkAttachmentDefinition, signal: AbortSignal) {
    this.#client = client;
    this.#socket = socket;
    this.#network = definition.metadata.name ?? "";
    this.#namespace = definition.metadata.namespace ?? "";
    this.#config = definition.spec?.config ?? "";
    this.#signal = signal;
  }

  async add(name: string, told: DemoTold): Promise<void> {
    const [client, signal, at] = [this.#client, this.#signal, { namespace: this.#namespace, name }];
    const pod = (await client.lookUp(pods, at, { signal })) ?? (await client.create(pods, this.#pod(name), { signal }));
    const { body, tookMs } = await this.#ask("ADD", pod);
    const addresses = (body.ips ?? []).map(({ address }) => address);
    const status = { phase: "Running", podIPs: addresses.map((each) => ({ ip: each.split("/")[0] })) };
    await client.patch(pods, at, { type: "merge", body: { status } }, { signal, subresource: "status" });
    told(name, addresses, tookMs);
  }

  async del(name: string, told: DemoTold): Promise<void> {
    const [client, signal, at] = [this.#client, this.#signal, { namespace: this.#namespace, name }];
    const pod = await client.lookUp(pods, at, { signal });
    if (pod === undefined) return told(name, [], 0);
    const { tookMs } = await this.#ask("DEL", pod);
    await client.delete(pods, at, { signal, gracePeriodSeconds: 0 });
    const { podIPs = [] } = (pod.status ?? {}) as { podIPs?: { ip?: string }[] };
    return told(
      name,
      podIPs.flatMap(({ ip }) => ip ?? []),
      tookMs,
    );
  }

  /** Without a kubelet nobody runs it: it is there so that its address has an owner. */
  #pod(name: string): KubeObject {
    const annotations = { "k8s.v1.cni.cncf.io/networks": this.#network };
    const containers = [{ name: "demo", image: "demo" }];
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: this.#namespace, annotations, labels: { app: "holdfast-demo" } },
      spec: { nodeName: nodeNameOf(hostname()), containers },
    } as KubeObject;
  }

  async #ask(command: "ADD" | "DEL", { metadata }: KubeObject): Promise<{ body: CniBody; tookMs: number }> {
    const { uid = "", name = "" } = metadata;
    const ids = `K8S_POD_NAMESPACE=${this.#namespace};K8S_POD_NAME=${name};K8S_POD_UID=${uid}`;
    const environment = {
      CNI_COMMAND: command,
      CNI_CONTAINERID: `demo-${uid}`,
      CNI_IFNAME: "net1",
      CNI_NETNS: "/proc/self/ns/net",
      CNI_ARGS: `IgnoreUnknown=1;${ids}`,
      CNI_PATH: "/opt/cni/bin",
    };
    const startedMs = performance.now();
    const { exitStatus, stdout } = await this.#exchanged(frameOf(environment, this.#config));
    const tookMs = performance.now() - startedMs;
    const text = new TextDecoder().decode(stdout);
    const body = (text === "" ? {} : JSON.parse(text)) as CniBody;
    if (exitStatus !== 0) throw new UsageError(`${name}: ${body.msg ?? "refused without a reason."}`, 1);
    return { body, tookMs };
  }

  async #exchanged(frame: Uint8Array) {
    try {
      return await exchange(this.#socket, frame);
    } catch (error) {
      const { message } = asError(error);
      const words = `the daemon of \`holdfast up\` does not answer on ${this.#socket} (${message}): is it still running?`;
      throw new UsageError(words, 1, { cause: error });
    }
  }
}
