// The cluster of a random run: an API server, a real leader, real daemons, KubeVirt played, and the checker's own
// watches. All of it in this process; each part has its own line to the server, which the run may cut.
import { setImmediate as turn, setTimeout as pause } from "node:timers/promises";

import { ipamClaimKind } from "../../src/api/claims/ipam-claim.ts";
import { definitionOf } from "../../src/api/definition.ts";
import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { readClaimsState } from "../../src/cluster/claims-state.ts";
import { namespaces, networkAttachmentDefinitions } from "../../src/cluster/resources.ts";
import { fetchState, readState } from "../../src/cluster/state.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { until } from "../lab/wait.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { Line } from "../slices/line.ts";
import { CheckerRecord } from "./checker-record.ts";
import { claims } from "./claim-objects.ts";
import { install } from "./kubevirt/crds.ts";
import { Kubevirt } from "./kubevirt/kubevirt.ts";
import { addNode, removeNode, setReady } from "./kubevirt/nodes.ts";
import { Leader } from "./leader.ts";
import { FixtureNodes } from "./random-nodes.ts";
import type { Chance } from "./random-source.ts";
import { disturbed, type Weather } from "./random-watches.ts";

const definitions = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

/** Once per server. */
export async function prepare(client: KubeClient): Promise<void> {
  await installDefinitions(client);
  for (const crd of [networkAttachmentDefinitionCrd, definitionOf(ipamClaimKind)]) {
    try {
      await client.create(definitions, structuredClone(crd) as unknown as AnyObject);
    } catch (error) {
      if (!isApiError(error, "already-exists")) throw error;
    }
  }
  await install(client);
  for (const resource of [networkAttachmentDefinitions, claims]) {
    await until(async () => client.list(resource as typeof claims).then(() => true), {
      what: `${resource.plural} to be served`,
    });
  }
}

/** A real controller-manager takes a node for lost that has said nothing for 40 s. */
const beatMs = 10_000;

export interface Definition {
  readonly namespace: string;
  readonly name: string;
  /** In the CNI configuration. */
  readonly network: string;
}

export interface FixtureOptions {
  readonly transport: Transport;
  /** The way of one of its parts to the server. Default: the transport itself. */
  readonly lineOf?: (who: string) => Transport;
  readonly chance: Chance;
  /** What it makes on the server has it in its name, so that worlds of one server do not meet. */
  readonly name: string;
  /** 0 to 255: the second number of its addresses. */
  readonly number: number;
}

export class RandomFixture {
  readonly admin: KubeClient;
  readonly nodes = new FixtureNodes();
  readonly kubevirt: Kubevirt;
  readonly weather: Weather = { breakPercent: 0, delayMs: 0 };
  readonly definitions: Definition[] = [];
  record!: CheckerRecord;
  leader: Leader | undefined;
  readonly #options: FixtureOptions;
  readonly #chance: Chance;
  #beating: NodeJS.Timeout | undefined;

  private constructor(options: FixtureOptions) {
    this.#options = options;
    this.#chance = options.chance.branch();
    this.admin = new KubeClient({ transport: this.#lineOf("users") });
    this.kubevirt = new Kubevirt({
      client: this.admin,
      cni: this.nodes,
      place: (_, without) => this.#placed(without),
      pace: (moment) => this.#pace(moment),
      teardown: () =>
        this.#chance.weighed([
          [6, "prompt"],
          [2, "late"],
          [1, "twice"],
          [1, "lost"],
        ] as const),
    });
  }

  static async open(options: FixtureOptions): Promise<RandomFixture> {
    const fixture = new RandomFixture(options);
    const { name } = options;
    for (const each of fixture.namespaces) await fixture.admin.create(namespaces, { metadata: { name: each } });
    await fixture.#define();
    for (const each of ["n1", "n2", "n3"]) await addNode(fixture.admin, `${name}-${each}`);
    fixture.lead();
    await fixture.#led();
    for (const each of ["n1", "n2", "n3"]) await fixture.nodes.join(`${name}-${each}`, fixture.#line(each));
    fixture.#beating = setInterval(() => void fixture.#beat(), beatMs);
    fixture.record = await CheckerRecord.start(new KubeClient({ transport: options.transport }));
    return fixture;
  }

  get namespaces(): readonly string[] {
    return [`${this.#options.name}-a`, `${this.#options.name}-b`];
  }

  /** A controller from now on. */
  lead(): void {
    this.leader = new Leader({ line: new Line(this.#line("leader"), this.#chance.branch().next) });
  }

  async killLeader(): Promise<void> {
    await this.leader?.kill();
    this.leader = undefined;
  }

  /** Everything is as on a good day. */
  async heal(): Promise<void> {
    Object.assign(this.weather, { breakPercent: 0, delayMs: 0 });
    for (const node of this.nodes.all) {
      node.line.lossPercent = 0;
      if (!node.isUp) await this.nodes.revive(node);
      else node.line.heal();
    }
    if (this.leader === undefined) this.lead();
    if (this.leader !== undefined) this.leader.line.lossPercent = 0;
  }

  async close(): Promise<void> {
    clearInterval(this.#beating);
    await this.record.stop();
    await this.leader?.stop();
    await this.kubevirt.virt.kubelet.settle();
    await this.nodes.close();
    for (const { name } of this.nodes.all) await removeNode(this.admin, name);
  }

  /** As kubelets do. One that is missed is followed by the next. */
  async #beat(): Promise<void> {
    for (const node of this.nodes.ready) {
      await setReady(this.admin, node.name, "True", () => node.isReady).catch(() => {});
    }
  }

  /** Of every kind that has addresses to keep; VMs of both namespaces use all of them. No address is in two of them. */
  async #define(): Promise<void> {
    const [a = "", b = ""] = this.namespaces;
    const net = `10.${this.#options.number}`;
    const two = [{ range: `${net}.3.0/26` }, { range: `fd00:${this.#options.number}::/122` }];
    const slices = { range: `${net}.8.0/22`, node_slice_size: "/26", floating_slice_size: "/25" };
    const overlay = { topology: "layer2", subnets: `${net}.5.0/26`, excludeSubnets: `${net}.5.0/29` };
    await this.#definition(a, "blue", { range: `${net}.1.0/26` });
    await this.#definition(b, "blue", { range: `${net}.2.0/26`, network_name: `${b}-blue` });
    await this.#definition(a, "both", { ipRanges: two });
    await this.#definition(b, "tight", { range: `${net}.4.0/28`, enable_overlapping_ranges: false });
    await this.#definition(a, "sliced", slices);
    await this.#definition(b, "overlay", {}, overlay);
  }

  async #definition(namespace: string, name: string, ipam: object, more: object = {}): Promise<void> {
    const network = `${namespace}-${name}`;
    const config = {
      cniVersion: "1.0.0",
      name: network,
      type: "bridge",
      allowPersistentIPs: true,
      ...more,
      ipam: { type: "holdfast", ...ipam },
    };
    const spec = { config: JSON.stringify(config) };
    await this.admin.create(networkAttachmentDefinitions, { metadata: { namespace, name }, spec });
    this.nodes.configs.set(`${namespace}/${name}`, config);
    this.definitions.push({ namespace, name, network });
  }

  /**
   * The leader has said that whereabouts is not there (one that meets a shared pool first waits two minutes for it),
   * and that claims are made: a daemon that does not know it gives pods addresses of their own.
   */
  async #led(): Promise<void> {
    const isSaid = async () => {
      const state = await fetchState(this.admin, { namespace: "kube-system" });
      return state !== undefined && !readState(state).coexistence && readClaimsState(state).gate === "on";
    };
    await until(isSaid, { what: "the leader's word", everyMs: 50 });
  }

  #lineOf(who: string): Transport {
    const { lineOf, transport } = this.#options;
    return lineOf?.(who) ?? transport;
  }

  #line(who: string): Transport {
    return disturbed(this.#lineOf(who), this.#chance.branch(), this.weather);
  }

  #placed(without: readonly string[]): string {
    const free = this.nodes.ready.filter(({ name }) => !without.includes(name));
    return this.#chance.pick(free).name;
  }

  /** Most things follow at once; some let others in; a sandbox that failed is tried again after a while. */
  async #pace(moment: string): Promise<void> {
    if (moment.endsWith("failed")) await pause(20 + this.#chance.below(60));
    else if (moment === "late DEL") await pause(this.#chance.below(150));
    else if (this.#chance.percent(15)) await pause(this.#chance.below(12));
    else await turn();
  }
}
