// The node's part in a launcher's life: kubelet, container runtime and Multus. Pods are objects with phases; what a
// runtime would ask a CNI plugin is asked of a callback, as often and as late as real runtimes do.
import type { KubeClient } from "../../../src/kube/rest.ts";
import { edit, remove } from "./edit.ts";
import type { Launcher, Port } from "./launcher.ts";
import { bindings, type Element, type Pod, pods, networksAnnotation, statusAnnotation } from "./objects.ts";

export interface Cni {
  /** The addresses, with their lengths. Throws where it is refused; the sandbox is then made anew. */
  add(port: Port, signal: AbortSignal): Promise<readonly string[]>;
  del(port: Port): Promise<void>;
}

/** When a sandbox's DEL comes: before the pod's end is written, after it, twice, or never (its node lost power). */
export type Teardown = "prompt" | "late" | "twice" | "lost";

export interface KubeletOptions {
  readonly client: KubeClient;
  readonly cni: Cni;
  /** Asked for each sandbox that ends. */
  readonly teardown?: () => Teardown;
  /** Awaited between any two things that happen: a test lets others in, or waits. */
  readonly pace: (moment: string) => Promise<void>;
}

/** What the rest of KubeVirt asks of nodes: here by objects alone, elsewhere by real ones. */
export type NodePart = Pick<
  Kubelet,
  "bind" | "run" | "exit" | "finish" | "vanish" | "bury" | "lose" | "plug" | "unplug" | "settle"
>;

export class Kubelet {
  readonly #options: KubeletOptions;
  /** DELs that are on their way. */
  readonly #late = new Set<Promise<void>>();

  constructor(options: KubeletOptions) {
    this.#options = options;
  }

  /** The scheduler's word. */
  async bind(launcher: Launcher, node: string): Promise<void> {
    const { namespace, name } = launcher;
    const target = { apiVersion: "v1", kind: "Node", name: node };
    const binding = { metadata: { namespace, name }, target };
    await this.#options.client.create(bindings, binding, { name, subresource: "binding" });
    launcher.node = node;
  }

  /** Until every interface has its answer, then Running. False where the pod was told to end before. */
  async run(launcher: Launcher): Promise<boolean> {
    const { signal } = launcher.ending;
    while (!signal.aborted) {
      launcher.nextSandbox();
      if (await this.#attachAll(launcher)) return this.#running(launcher);
      await this.#teardown(launcher, "prompt");
      await this.#options.pace("sandbox failed");
    }
    return false;
  }

  /** The container has exited; the object stays. observed: section 4, source pod. */
  async exit(launcher: Launcher, phase: "Succeeded" | "Failed" = "Succeeded"): Promise<void> {
    if (!launcher.isLive) return;
    launcher.ending.abort();
    const when = this.#when();
    if (when === "prompt") await this.#teardown(launcher, when);
    launcher.phase = phase;
    await this.#phase(launcher, phase);
    if (when !== "prompt") this.#later(launcher, when);
  }

  /** The container has exited, and the object goes with it, as at the end of a graceful deletion. */
  async finish(launcher: Launcher): Promise<void> {
    if (launcher.phase === "Gone") return;
    await this.exit(launcher);
    await this.#options.pace("pod over");
    await this.#delete(launcher);
  }

  /** observed: section 7, forced delete: the object is gone at once, and the sandbox is not. `bury` does the rest. */
  async vanish(launcher: Launcher): Promise<void> {
    launcher.ending.abort();
    await this.#delete(launcher);
  }

  /** What `vanish` and a lost node left behind: the DEL of a sandbox whose object is long gone. */
  async bury(launcher: Launcher): Promise<void> {
    await this.#teardown(launcher, "prompt");
  }

  /** observed: section 8. Nothing of it runs any more, and no DEL comes from there. */
  async lose(launcher: Launcher): Promise<void> {
    launcher.ending.abort();
    if (launcher.isLive) await this.#phase(launcher, "Failed");
    await this.#delete(launcher);
  }

  /** observed: section 6, by a dynamic-networks controller: one more interface for a pod that runs. */
  async plug(launcher: Launcher, element: Element): Promise<boolean> {
    const { signal } = launcher.ending;
    while (!signal.aborted) {
      if (await this.#attach(launcher, element)) {
        await this.#status(launcher);
        return true;
      }
      await this.#options.pace("plug failed");
    }
    return false;
  }

  async unplug(launcher: Launcher, interfaceName: string): Promise<void> {
    const found = launcher.attached.get(interfaceName);
    if (found === undefined) return;
    await this.#options.cni.del(found.port).catch(() => {}); // a plugin that does not answer does not keep the link
    launcher.attached.delete(interfaceName);
    await this.#status(launcher);
  }

  /** Every DEL that was late has come. */
  async settle(): Promise<void> {
    while (this.#late.size > 0) await Promise.all(this.#late);
  }

  /** By the pod's own annotation, as Multus reads it when the sandbox starts. */
  async #attachAll(launcher: Launcher): Promise<boolean> {
    const pod = await this.#options.client.get(pods, launcher.at).catch(() => undefined);
    if (pod === undefined) return false;
    for (const element of elementsOfPod(pod)) {
      if (launcher.ending.signal.aborted || !(await this.#attach(launcher, element))) return false;
    }
    return !launcher.ending.signal.aborted;
  }

  async #attach(launcher: Launcher, element: Element): Promise<boolean> {
    const port = launcher.port(element);
    try {
      const addresses = await this.#options.cni.add(port, launcher.ending.signal);
      launcher.attached.set(element.interface, { port, addresses });
      return true;
    } catch {
      await this.#options.cni.del(port).catch(() => {}); // asked again by the next failed sandbox, or never
      return false;
    }
  }

  async #running(launcher: Launcher): Promise<boolean> {
    await this.#options.pace("attached");
    if (!(await this.#status(launcher))) return false;
    await this.#phase(launcher, "Running");
    if (launcher.ending.signal.aborted) return false;
    launcher.phase = "Running";
    return true;
  }

  /** Multus' annotation. False where the pod is gone. */
  async #status({ at, uid, attached }: Launcher): Promise<boolean> {
    const entries = [...attached].map(([name, { port, addresses }]) => ({
      name: `${port.element.namespace}/${port.element.name}`,
      interface: name,
      ips: addresses.map((address) => address.split("/")[0]),
      ...(port.element.mac !== undefined && { mac: port.element.mac }),
      dns: {},
    }));
    const text = JSON.stringify([{ name: "cluster", interface: "eth0", default: true, dns: {} }, ...entries]);
    const written = await edit(this.#options.client, pods, at, ({ metadata }) => {
      if (metadata.uid !== uid) return false;
      metadata.annotations = { ...metadata.annotations, [statusAnnotation]: text };
      return true;
    });
    return written?.metadata.uid === uid;
  }

  async #phase({ at, uid }: Launcher, phase: string): Promise<void> {
    const change = (pod: Pod) => {
      if (pod.metadata.uid !== uid) return false;
      pod.status = { ...pod.status, phase };
      return true;
    };
    await edit(this.#options.client, pods, at, change, "status");
  }

  async #delete(launcher: Launcher): Promise<void> {
    await remove(this.#options.client, pods, launcher.at, { uid: launcher.uid, gracePeriodSeconds: 0 });
    launcher.phase = "Gone";
  }

  #when(): Teardown {
    return this.#options.teardown?.() ?? "prompt";
  }

  #later(launcher: Launcher, when: Teardown): void {
    const work = this.#options.pace("late DEL").then(() => this.#teardown(launcher, when));
    this.#late.add(work);
    void work.finally(() => this.#late.delete(work)).catch(() => {});
  }

  async #teardown(launcher: Launcher, when: Teardown): Promise<void> {
    const ports = [...launcher.attached.values()].map(({ port }) => port);
    launcher.attached.clear();
    if (when === "lost") return;
    for (const port of [...ports, ...(when === "twice" ? ports : [])])
      await this.#options.cni.del(port).catch(() => {});
  }
}

export function elementsOfPod({ metadata }: Pod): Element[] {
  return JSON.parse(metadata.annotations?.[networksAnnotation] ?? "[]") as Element[];
}
