// A cluster on the lab whose pods are attached by Holdfast's own plugin: an API server with the leader, a daemon in the
// network of each node, and the plugin as an executable, started as a runtime starts it. The topology's writer is
// played: it tells each node the subnet that the leader granted it, and writes switches and routers by src/ovn.
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { NorthboundWriter } from "../../../src/migration/northbound/northbound-writer.ts";
import { plus } from "../../../src/net/address.ts";
import { parsePrefix } from "../../../src/net/prefix.ts";
import { Northbound, northboundTables } from "../../../src/ovn/northbound.ts";
import type { OvnFeatures } from "../../../src/ovn/zone/features.ts";
import type { Zone } from "../../../src/ovn/zone/zone.ts";
import { follow } from "../../../src/ovsdb/cache/followed.ts";
import { ovnNorthbound } from "../../../src/ovsdb/schema/ovn-northbound.ts";
import { ensureShim } from "../../../tools/shim/ensure.ts";
import { invoke } from "../../shim/invoke.ts";
import { Component } from "../component.ts";
import { apis, type LabApi } from "../holdfast/api.ts";
import { holdfastCommand } from "../holdfast/launch.ts";
import { givesAddresses } from "../holdfast/request.ts";
import { removeCluster } from "../reaper.ts";
import { relayOutOf } from "../relay.ts";
import { StateFile } from "../state.ts";
import { until } from "../wait.ts";
import { LabClient } from "./client.ts";
import { zoneOf } from "./cluster/zone-of.ts";
import type { OvnLab } from "./lab.ts";
import { Namespace } from "./namespace.ts";

/** As the nodes' own configuration has it: the pod network of the whole cluster. */
export const podNetwork = {
  cniVersion: "1.1.0",
  name: "ovn-kubernetes",
  type: "holdfast-ovn",
  subnets: "10.244.0.0/16/24,fd10:244::/48/64",
};

interface PluginConfig {
  readonly type: string;
  readonly [key: string]: unknown;
}

interface PodWishes {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface LabSandbox {
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly containerId: string;
  readonly namespace: Namespace;
}

export interface Answer {
  readonly status: number | null;
  // oxlint-disable-next-line typescript/no-explicit-any -- what a runtime reads is JSON of many shapes
  readonly json: any;
}

interface LogicalPortRow {
  readonly name: string;
  readonly addresses: ReadonlySet<string>;
  readonly options: ReadonlyMap<string, string>;
}

const ports = follow(ovnNorthbound, "Logical_Switch_Port", {
  columns: ["name", "type", "addresses", "port_security", "options", "external_ids", "tag"],
  indexes: { name: (row) => [row.name] },
});

export class AttachingCluster implements AsyncDisposable {
  readonly lab: OvnLab;
  readonly api: LabApi;
  readonly writer: NorthboundWriter;
  readonly northbound: LabClient;
  /** Key: the node's name. */
  readonly daemons = new Map<string, Component>();
  readonly #state: StateFile;
  readonly #bin: string;
  readonly #written: LabClient;
  /** Key: the node's name. */
  readonly #subnets = new Map<string, readonly string[]>();
  #sandboxes = 0;

  private constructor(
    lab: OvnLab,
    api: LabApi,
    state: StateFile,
    bin: string,
    clients: readonly [LabClient, LabClient],
  ) {
    [this.northbound, this.#written] = clients;
    this.lab = lab;
    this.api = api;
    this.#state = state;
    this.#bin = bin;
    const northbound = new Northbound(this.#written.ovsdb);
    this.writer = new NorthboundWriter(new Map([["global", { northbound, zone: (features) => this.zone(features) }]]));
  }

  static async open(lab: OvnLab): Promise<AttachingCluster> {
    const api = await apis.embedded();
    const state = new StateFile(`attach-${randomBytes(4).toString("hex")}`);
    const { path } = await ensureShim({ native: true });
    const bin = join(state.folder, "bin");
    mkdirSync(bin, { recursive: true });
    // One executable under several names, as `holdfast cni install` puts it.
    for (const name of ["holdfast-ovn", "ovn-k8s-cni-overlay"])
      writeFileSync(join(bin, name), readFileSync(path), { mode: 0o755 });
    const open = () => lab.northbound();
    const clients = [
      await LabClient.open(ovnNorthbound, open(), [ports]),
      await LabClient.open(ovnNorthbound, open(), northboundTables),
    ] as const;
    const cluster = new AttachingCluster(lab, api, state, bin, clients);
    try {
      await cluster.#begin();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The lab's own, with the subnets that the leader has granted. */
  zone(features: OvnFeatures): Zone {
    const zone = zoneOf({ lab: this.lab, families: [4, 6], masks: false, removed: new Set() }, "global", features);
    const subnetsOf = (name: string) => (this.#subnets.get(name) ?? []).map((each) => parsePrefix(each));
    return {
      ...zone,
      nodes: zone.nodes.map((node) => ({ ...node, subnets: subnetsOf(node.name), managementMac: undefined })),
    };
  }

  async define(namespace: string, name: string, config: object): Promise<void> {
    const path = `/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions`;
    const body = {
      apiVersion: "k8s.cni.cncf.io/v1",
      kind: "NetworkAttachmentDefinition",
      metadata: { namespace, name },
      spec: { config: JSON.stringify(config) },
    };
    await this.api.rest.create(path, body);
  }

  /** IPv4: the first that a pod of the node can have. */
  lowest(node: string): string {
    const [four] = this.#subnets.get(node)!;
    return `${plus(parsePrefix(four!).network, 3)!}`;
  }

  /** A pod that is bound to a node, and its sandbox; nothing is attached yet. */
  async sandbox(node: string, name: string, { labels = {}, annotations = {} }: PodWishes = {}): Promise<LabSandbox> {
    const made = await this.api.rest.create<{ metadata: { uid: string } }>("/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", labels, annotations },
      spec: { nodeName: node, containers: [{ name: "c", image: "none" }] },
    });
    return await this.#sandboxOf(node, name, made.metadata.uid);
  }

  /** The same pod again, as after its sandbox was lost. */
  async again({ node, name, uid }: LabSandbox): Promise<LabSandbox> {
    return await this.#sandboxOf(node, name, uid);
  }

  async deletePod({ name }: Pick<LabSandbox, "name">): Promise<void> {
    await this.api.rest.delete(`/api/v1/namespaces/default/pods/${name}?gracePeriodSeconds=0`);
  }

  async annotation({ name }: Pick<LabSandbox, "name">, key: string): Promise<string | undefined> {
    const pod = await this.api.rest.get<{ metadata: { annotations?: Record<string, string> } }>(
      `/api/v1/namespaces/default/pods/${name}`,
    );
    return pod.metadata.annotations?.[key];
  }

  /** The plugin's executable, in the network of the node, as a runtime starts it. */
  async call(
    command: string,
    sandbox: LabSandbox,
    config: PluginConfig,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    const { node, name, uid, containerId, namespace } = sandbox;
    const env = {
      CNI_COMMAND: command,
      CNI_CONTAINERID: containerId,
      CNI_IFNAME: "eth0",
      CNI_NETNS: `/proc/${namespace.pid}/ns/net`,
      CNI_PATH: this.#bin,
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name};K8S_POD_UID=${uid}`,
      HOLDFAST_SOCKET: this.#socket(node),
      HOLDFAST_SPOOL: join(this.#state.folder, node, "state", "spool"),
      ...more,
    };
    const { status, stdout } = await invoke(join(this.#bin, config.type), { env, stdin: JSON.stringify(config) });
    const text = stdout.toString();
    return { status, json: text === "" ? undefined : JSON.parse(text) };
  }

  port(name: string): LogicalPortRow | undefined {
    return this.northbound.ovsdb.rows(ports).by("name", name)[0];
  }

  /** Those of pods. */
  podPorts(): string[] {
    const all = [...this.northbound.ovsdb.rows(ports).list()];
    return all
      .filter(({ external_ids: ids }) => ids.get("pod") === "true")
      .map(({ name }) => name)
      .sort();
  }

  /** Cables of ours on a node, and ports of br-int for them. */
  async leftOn(node: string): Promise<string[]> {
    const place = this.lab.node(node);
    const links = JSON.parse(await place.namespace.run(["ip", "-json", "link", "show"])) as { ifname: string }[];
    return [
      ...links.map(({ ifname }) => ifname).filter((each) => each.startsWith("hf")),
      ...place.switch
        .ports()
        .filter((each) => each.startsWith("hf"))
        .map((each) => `port ${each}`),
    ].sort();
  }

  async start(node: string): Promise<void> {
    await this.daemons.get(node)!.start();
  }

  async kill(node: string): Promise<void> {
    await this.daemons.get(node)!.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.northbound.close(), this.#written.close()]);
    await removeCluster(this.#state.state);
    await this.api.stop();
    rmSync(this.#state.folder, { recursive: true, force: true });
  }

  async #begin(): Promise<void> {
    const { rest } = this.api;
    await this.define("kube-system", "default", podNetwork);
    for (const { name } of this.lab.nodes) {
      await rest.create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
      this.daemons.set(name, await this.#daemon(name));
      await this.start(name);
    }
    for (const { name } of this.lab.nodes) await this.#settle(name);
    const limit = AbortSignal.timeout(60_000);
    await this.#written.until("ovn-northd to tell its version", () => new Northbound(this.#written.ovsdb).version);
    await this.writer.sweep("global", new Map(), limit);
  }

  /** The first pod of a node asks for its subnet; the topology's writer tells the node what it was granted. */
  async #settle(node: string): Promise<void> {
    const first = await this.sandbox(node, `first-${node}`);
    const granted = await until(
      async () => {
        await this.call("ADD", first, podNetwork);
        const pools = await this.api.rest.get<{
          items: { status?: { allocations?: { nodeName: string; sliceRange: string }[] } }[];
        }>("/apis/whereabouts.cni.cncf.io/v1alpha1/nodeslicepools");
        const own = pools.items.flatMap(
          ({ status }) => status?.allocations?.filter(({ nodeName }) => nodeName === node) ?? [],
        );
        return own.length >= 2 && own.map(({ sliceRange }) => sliceRange);
      },
      { what: `a subnet of each family for ${node}` },
    );
    const subnets = granted.toSorted((a, b) => Number(a.includes(":")) - Number(b.includes(":")));
    this.#subnets.set(node, subnets);
    const annotations = { "k8s.ovn.org/node-subnets": JSON.stringify({ default: subnets }) };
    await this.api.rest.patch(`/api/v1/nodes/${node}`, { metadata: { annotations } });
    await this.call("DEL", first, podNetwork);
    await this.deletePod(first);
    await first.namespace.close();
  }

  async #daemon(name: string): Promise<Component> {
    const { place } = this.lab.node(name).namespace;
    const url = new URL((/server: (\S+)/.exec(readFileSync(this.api.kubeconfig, "utf8")) ?? [])[1]!);
    const way = await relayOutOf(place, "127.0.0.1", { host: url.hostname, port: Number(url.port) }, this.#state);
    const folder = join(this.#state.folder, name);
    mkdirSync(folder, { recursive: true });
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(
      kubeconfig,
      readFileSync(this.api.kubeconfig, "utf8").replace(url.origin, `https://${way.host}:${way.port}`),
    );
    return new Component(
      {
        name: `holdfast node (${name})`,
        command: holdfastCommand(
          "node",
          `--node-name=${name}`,
          `--kubeconfig=${kubeconfig}`,
          `--socket=${this.#socket(name)}`,
          `--state=${join(folder, "state")}`,
          `--ovn-northbound=${this.lab.northbound()}`,
          `--ovs-database=${this.lab.node(name).switch.endpoint}`,
          "--metrics-port=0",
          "--cooldown-seconds=0",
        ),
        place,
        logFile: join(folder, "holdfast.log"),
        isReady: () => givesAddresses(this.#socket(name)),
      },
      this.#state,
    );
  }

  async #sandboxOf(node: string, name: string, uid: string): Promise<LabSandbox> {
    const containerId = `c${++this.#sandboxes}${randomBytes(8).toString("hex")}`;
    const namespace = await Namespace.open(this.#state, `pod ${name}`);
    return { name, uid, node, containerId, namespace };
  }

  #socket(node: string): string {
    return join(this.#state.folder, node, "cni.sock");
  }

  /** For a test that fails. */
  log(node: string): string {
    return readFileSync(join(this.#state.folder, node, "holdfast.log"), "utf8");
  }
}
