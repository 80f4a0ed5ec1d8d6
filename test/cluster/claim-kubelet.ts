// The nodes' part in a launcher's life, on real nodes: kubelet, containerd and the CNI plugins do it all; this asks and
// waits. The launcher is a shell that ends when told to, as virt-launcher does: on TERM at once with 0, on INT with 1.
import type { KubeClient } from "../../src/kube/rest.ts";
import { find, remove } from "../claims/kubevirt/edit.ts";
import { elementsOfPod, type NodePart } from "../claims/kubevirt/kubelet.ts";
import type { Launcher } from "../claims/kubevirt/launcher.ts";
import { bindings, type Pod, pods, statusAnnotation } from "../claims/kubevirt/objects.ts";
import type { Cluster } from "../lab/cluster.ts";
import { busyboxImage } from "../lab/images.ts";
import type { NetworkStatus } from "../lab/networks/status.ts";
import { until } from "../lab/wait.ts";

/** A folder of the node. A launcher whose name is a file there does not end before the file is gone. */
const held = "/run/launchers";
const patientMs = 120_000;

const script = `
trap 'while [ -e ${held}/$HOSTNAME ]; do sleep 0.1; done; exit 0' TERM
trap 'exit 1' INT
while :; do sleep 3600 & wait $!; done`;

/** Nobody else's scheduler places it: the driver does, as a test wants it. */
export const launcherSpec = {
  schedulerName: "played",
  volumes: [{ name: "held", hostPath: { path: held, type: "DirectoryOrCreate" } }],
  containers: [
    {
      name: "compute",
      image: busyboxImage,
      imagePullPolicy: "Never",
      command: ["sh", "-c", script],
      volumeMounts: [{ name: "held", mountPath: held }],
    },
  ],
};

export class RealKubelet implements NodePart {
  readonly #lab: Cluster;
  readonly #client: KubeClient;

  constructor(lab: Cluster, client: KubeClient) {
    this.#lab = lab;
    this.#client = client;
  }

  async bind(launcher: Launcher, node: string): Promise<void> {
    const { namespace, name } = launcher;
    const target = { apiVersion: "v1", kind: "Node", name: node };
    await this.#client.create(bindings, { metadata: { namespace, name }, target }, { name, subresource: "binding" });
    launcher.node = node;
  }

  /** Until it runs. False where it was told to end before. */
  async run(launcher: Launcher): Promise<boolean> {
    const pod = await this.#when(launcher, "to run", (found) => {
      if (launcher.ending.signal.aborted) return "ended";
      return found?.status?.phase === "Running" ? found : undefined;
    });
    if (pod === "ended") return false;
    launcher.phase = "Running";
    launcher.nextSandbox();
    for (const { interface: name, ips = [] } of statusOf(pod)) {
      const element = elementsOfPod(pod).find((each) => each.interface === name);
      if (element !== undefined) launcher.attached.set(name, { port: launcher.port(element), addresses: ips });
    }
    return true;
  }

  /** The container exits by itself, and the object stays. */
  async exit(launcher: Launcher, phase: "Succeeded" | "Failed" = "Succeeded"): Promise<void> {
    if (!launcher.isLive) return;
    launcher.ending.abort();
    const signal = phase === "Succeeded" ? "-TERM" : "-INT";
    const { namespace, name } = launcher;
    // The container may be gone before the answer: its phase says whether it was told.
    await this.#lab.kubectl(["exec", `--namespace=${namespace}`, name, "--", "kill", signal, "1"]).catch(() => {});
    await this.#when(launcher, `to be ${phase}`, (pod) => pod?.status?.phase === phase || undefined);
    launcher.phase = phase;
    launcher.attached.clear();
  }

  /** A graceful deletion, asked for here or before. */
  async finish(launcher: Launcher): Promise<void> {
    if (launcher.phase === "Gone") return;
    launcher.ending.abort();
    await remove(this.#client, pods, launcher.at, { uid: launcher.uid });
    await this.#gone(launcher);
  }

  /** It takes its time to shut down: it does not end before `bury`, or the pod's grace. */
  async linger(launcher: Launcher): Promise<void> {
    await this.#node(launcher).exec(["touch", `${held}/${launcher.name}`]);
  }

  /** The object is gone at once, and the container is not. */
  async vanish(launcher: Launcher): Promise<void> {
    await this.linger(launcher);
    launcher.ending.abort();
    await remove(this.#client, pods, launcher.at, { uid: launcher.uid, gracePeriodSeconds: 0 });
    launcher.phase = "Gone";
  }

  /** What lingers may end. */
  async bury(launcher: Launcher): Promise<void> {
    await this.#node(launcher).exec(["rm", "-f", `${held}/${launcher.name}`]);
  }

  /** Garbage collection of pods takes it from a node that is out of service. */
  async lose(launcher: Launcher): Promise<void> {
    launcher.ending.abort();
    await this.#gone(launcher);
  }

  plug(): Promise<boolean> {
    throw new Error("The lab changes no sandbox that runs: plug by migration.");
  }

  unplug(): Promise<void> {
    throw new Error("The lab changes no sandbox that runs: unplug by migration.");
  }

  async settle(): Promise<void> {}

  #node({ node }: Launcher) {
    const found = this.#lab.nodes.find(({ name }) => name === node);
    if (found === undefined) throw new Error(`the lab has no ${node}`);
    return found;
  }

  async #gone(launcher: Launcher): Promise<void> {
    await this.#when(launcher, "to be gone", (pod) => pod === undefined || undefined);
    launcher.phase = "Gone";
    launcher.attached.clear();
  }

  /** `ask` is told undefined where the pod of that UID is gone. */
  #when<T>(launcher: Launcher, what: string, ask: (pod: Pod | undefined) => T | undefined): Promise<T> {
    const look = async () => {
      const pod = await find(this.#client, pods, launcher.at);
      return ask(pod?.metadata.uid === launcher.uid ? pod : undefined);
    };
    return until(look, { what: `${launcher.name} ${what}`, everyMs: 100, timeoutMs: patientMs });
  }
}

function statusOf({ metadata }: Pod): NetworkStatus[] {
  return JSON.parse(metadata.annotations?.[statusAnnotation] ?? "[]") as NetworkStatus[];
}
