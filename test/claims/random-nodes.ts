// The nodes of a random world: a real daemon for each, on a line of its own, and what a runtime asks of it.
import type { Transport } from "../../src/kube/transport/transport.ts";
import { DaemonFixture, type DaemonFixtureOptions } from "../node/daemon-fixture.ts";
import { podArgs, type Told } from "../node/shim.ts";
import { Line } from "../slices/line.ts";
import type { Cni } from "./kubevirt/kubelet.ts";
import type { Port } from "./kubevirt/launcher.ts";

export interface FixtureNode {
  readonly name: string;
  readonly line: Line;
  readonly daemonFixture: DaemonFixture;
  /** Its daemon answers. */
  isUp: boolean;
  /** Its kubelet reports, and pods are put there. */
  isReady: boolean;
}

export class FixtureNodes implements Cni {
  /** Key: name. */
  readonly #nodes = new Map<string, FixtureNode>();
  /** Key: namespace/name of the definition. What Multus hands to the plugin. */
  readonly configs = new Map<string, object>();
  /** Key: code and the beginning of the sentence, without names. How often an ADD was refused so. */
  readonly refusals = new Map<string, number>();

  async join(name: string, transport: Transport, more: Partial<DaemonFixtureOptions> = {}): Promise<FixtureNode> {
    const line = new Line(transport);
    const daemonFixture = await DaemonFixture.start({ ...more, transport: line.transport, node: name });
    const node = { name, line, daemonFixture, isUp: true, isReady: true };
    this.#nodes.set(name, node);
    return node;
  }

  get all(): readonly FixtureNode[] {
    return [...this.#nodes.values()];
  }

  get ready(): readonly FixtureNode[] {
    return this.all.filter(({ isReady }) => isReady);
  }

  /** kill -9, as far as the server can tell: nothing of it arrives any more. */
  async kill(node: FixtureNode): Promise<void> {
    node.isUp = false;
    node.line.cut();
    await node.daemonFixture.stop();
  }

  async revive(node: FixtureNode): Promise<void> {
    node.line.heal();
    await node.daemonFixture.start();
    node.isUp = true;
  }

  async close(): Promise<void> {
    for (const { daemonFixture, line } of this.all) {
      line.heal();
      await daemonFixture[Symbol.asyncDispose]();
    }
  }

  async add(port: Port, signal: AbortSignal): Promise<readonly string[]> {
    const { promise: ended, reject } = Promise.withResolvers<never>();
    ended.catch(() => {});
    const onEnd = () => reject(new Error("the pod was told to end"));
    signal.addEventListener("abort", onEnd, { once: true });
    try {
      const told = await Promise.race([this.ask("ADD", port), ended]);
      if (told.status !== 0) throw this.#refused(`${told.json.code} ${told.json.msg} ${told.json.details ?? ""}`);
      return told.json.ips.map(({ address }: { address: string }) => address);
    } finally {
      signal.removeEventListener("abort", onEnd);
    }
  }

  async del(port: Port): Promise<void> {
    await this.ask("DEL", port);
  }

  #refused(words: string): Error {
    const kind = words.replaceAll(/[^\s]*\d[^\s]*/g, "#").slice(0, 140);
    this.refusals.set(kind, (this.refusals.get(kind) ?? 0) + 1);
    return new Error(words);
  }

  /** What a runtime asks, and what it is told. */
  ask(command: string, { namespace, pod, podUid, node, container, element }: Port): Promise<Told> {
    const config = this.configs.get(`${element.namespace}/${element.name}`);
    const found = this.#nodes.get(node);
    if (config === undefined || found === undefined) throw new Error(`no ${element.name} on ${node}`);
    if (!found.isUp) return Promise.reject(new Error(`the daemon of ${node} is dead`));
    const args = podArgs(namespace, pod, podUid);
    const netns = `/run/netns/${container}`;
    return found.daemonFixture.ask({ command, container, netns, interfaceName: element.interface, args, config });
  }
}
