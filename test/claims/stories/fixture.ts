// A small cluster for one story: an API server, a real leader, three real daemons, KubeVirt played in its observed
// order, and the checker's watches. Nothing is random: a story says what happens, and at which moment of KubeVirt.
//
// Promised: at a story's end the checker has seen every change, objects to none, all are deleted, nothing is left held.
import { setTimeout as pause } from "node:timers/promises";

import { readClaimsState } from "../../../src/cluster/claims-state.ts";
import { namespaces, networkAttachmentDefinitions } from "../../../src/cluster/resources.ts";
import { fetchState, readState } from "../../../src/cluster/state.ts";
import type { AnyObject } from "../../../src/kube/meta.ts";
import { KubeClient } from "../../../src/kube/rest.ts";
import type { Transport } from "../../../src/kube/transport/transport.ts";
import { haste, hastened } from "../../haste.ts";
import { until } from "../../lab/wait.ts";
import type { DaemonFixtureOptions } from "../../node/daemon-fixture.ts";
import { Line } from "../../slices/line.ts";
import { CheckerRecord } from "../checker-record.ts";
import { Checker, type Rule, type Violation } from "../checker.ts";
import { claims } from "../claim-objects.ts";
import { edit, find } from "../kubevirt/edit.ts";
import type { Teardown } from "../kubevirt/kubelet.ts";
import { Kubevirt } from "../kubevirt/kubevirt.ts";
import type { Port } from "../kubevirt/launcher.ts";
import type { Machine, MachineSpec } from "../kubevirt/machine.ts";
import { addNode, removeNode, setReady } from "../kubevirt/nodes.ts";
import { Leader } from "../leader.ts";
import { type FixtureNode, FixtureNodes } from "../random-nodes.ts";
import { leftWhenFree, patienceMs, removeHandMade } from "./ending.ts";
import { heldAddresses, look, type Sight, type State } from "./state.ts";

/** A real controller-manager takes a node for lost that has said nothing for 40 s. */
const beatMs = 10_000;

export interface StoryOptions {
  readonly transport: Transport;
  /** What it makes on the server has it in its name, so that worlds of one server do not meet. */
  readonly name: string;
  /** 0 to 255: the second number of its addresses. */
  readonly number: number;
  /** How long an address rests. Default: not at all. */
  readonly cooldownMs?: number;
  readonly daemon?: Partial<DaemonFixtureOptions>;
}

export class StoryFixture {
  readonly admin: KubeClient;
  readonly nodes = new FixtureNodes();
  readonly kubevirt: Kubevirt;
  record!: CheckerRecord;
  leader: Leader | undefined;
  /** What daemons answered to ADDs that they refused, oldest first. */
  readonly refusals: string[] = [];
  /** The first write of a daemon to which it says yes is done, its answer lost, and the node cut off from then on. */
  loses: ((request: { readonly method: string; readonly path: string }) => boolean) | undefined;
  /** The leader's reads of these get no answer. */
  withholds: ((path: string) => boolean) | undefined;
  /** When the DELs of sandboxes come. */
  teardown: Teardown = "prompt";
  readonly #options: StoryOptions;
  /** Half as fast as elsewhere: a kubelet that is played waits by the machine's own clock. */
  readonly #clock = hastened(haste / 2);
  /** Key: the moment. What the story does there, once. */
  readonly #moments = new Map<string, () => Promise<unknown>>();
  readonly #machines = new Set<Machine>();
  readonly #forgiven = new Set<Rule>();
  #beating: NodeJS.Timeout | undefined;

  private constructor(options: StoryOptions) {
    this.#options = options;
    this.admin = new KubeClient({ transport: options.transport });
    this.kubevirt = new Kubevirt({
      client: this.admin,
      cni: { add: (port, signal) => this.#add(port, signal), del: (port) => this.nodes.del(port) },
      place: (_, without) => this.nodes.ready.find(({ name }) => !without.includes(name))?.name ?? "",
      pace: (moment) => this.#pace(moment),
      teardown: () => this.teardown,
    });
  }

  static async open(options: StoryOptions): Promise<StoryFixture> {
    const fixture = new StoryFixture(options);
    for (const name of fixture.#namespaces) await fixture.admin.create(namespaces, { metadata: { name } });
    await fixture.define("blue", { range: `${fixture.net}.1.0/26` });
    for (const name of fixture.#nodeNames) await addNode(fixture.admin, name);
    await fixture.lead();
    for (const name of fixture.#nodeNames) {
      await fixture.nodes.join(name, fixture.#lossy(name), { clock: fixture.#clock, ...options.daemon });
    }
    fixture.#beating = setInterval(() => void fixture.#beat(), beatMs);
    fixture.record = await CheckerRecord.start(fixture.admin);
    return fixture;
  }

  /** In which its VMs are. */
  get namespace(): string {
    return this.#options.name;
  }

  get elsewhere(): string {
    return `${this.#options.name}-else`;
  }

  get #namespaces(): readonly string[] {
    return [this.namespace, this.elsewhere];
  }

  /** The beginning of all its addresses. */
  get net(): string {
    return `10.${this.#options.number}`;
  }

  get #nodeNames(): readonly string[] {
    return ["n1", "n2", "n3"].map((each) => `${this.#options.name}-${each}`);
  }

  node(number: 1 | 2 | 3): FixtureNode {
    return this.nodes.all[number - 1]!;
  }

  /** A controller from now on; resolves when it has told the daemons that claims are made. */
  async lead(cooldownMs = this.#options.cooldownMs ?? 0): Promise<void> {
    const transport: Transport = async (request) => {
      if (this.withholds?.(request.path) === true) throw new Error("the API server does not answer");
      return this.#options.transport(request);
    };
    this.leader = new Leader({ line: new Line(transport), cooldownMs, clock: this.#clock });
    const isSaid = async () => {
      const state = await fetchState(this.admin, { namespace: "kube-system" });
      return state !== undefined && !readState(state).coexistence && readClaimsState(state).gate === "on";
    };
    await until(isSaid, { what: "the leader's word", everyMs: 25 });
  }

  async killLeader(): Promise<void> {
    await this.leader?.kill();
    this.leader = undefined;
  }

  /** A definition, by NAME or NAMESPACE/NAME, that lets addresses stay; its network is called NAMESPACE-NAME. */
  async define(path: string, ipam: object, more: object = {}): Promise<void> {
    const [name = "", namespace = this.namespace] = path.split("/").toReversed();
    const network = `${namespace}-${name}`;
    const rest = { ipam: { type: "holdfast", network_name: network, ...ipam } };
    const config = { cniVersion: "1.0.0", name: network, type: "bridge", allowPersistentIPs: true, ...more, ...rest };
    const spec = { config: JSON.stringify(config) };
    await this.admin.create(networkAttachmentDefinitions, { metadata: { namespace, name }, spec });
    this.nodes.configs.set(`${namespace}/${name}`, config);
  }

  /** What an administrator changes in it. Daemons are handed the new one from now on, as Multus does. */
  async redefine(name: string, change: (config: AnyConfig) => void): Promise<void> {
    await edit(this.admin, networkAttachmentDefinitions, { namespace: this.namespace, name }, (definition) => {
      const config = JSON.parse(definition.spec?.config ?? "{}") as AnyConfig;
      change(config);
      definition.spec = { config: JSON.stringify(config) };
      this.nodes.configs.set(`${this.namespace}/${name}`, config);
      return true;
    });
  }

  /** Halted. One NIC, blue, unless it says otherwise. */
  async machine(name: string, more: Partial<MachineSpec> = {}): Promise<Machine> {
    return this.keep(await this.kubevirt.create(this.spec(name, more)));
  }

  async started(name: string, more: Partial<MachineSpec> = {}): Promise<Machine> {
    const machine = await this.machine(name, more);
    if (!(await this.kubevirt.start(machine))) throw new Error(`${name} did not start`);
    await this.is(machine, "BOUND", more.nics?.[0]?.name);
    return machine;
  }

  spec(name: string, more: Partial<MachineSpec> = {}): MachineSpec {
    return { namespace: this.namespace, name, nics: [{ name: "blue", definition: "blue" }], ...more };
  }

  /** It is deleted at the end of the story. */
  keep(machine: Machine): Machine {
    this.#machines.add(machine);
    return machine;
  }

  /** Once, when KubeVirt comes to this moment. */
  at(moment: string, act: () => Promise<unknown>): void {
    this.#moments.set(moment, act);
  }

  look(at: { readonly namespace: string; readonly name: string }, nic = "blue"): Promise<Sight> {
    return look(this.admin, { namespace: at.namespace, name: at.name }, nic);
  }

  /** Comes to this state, and says what it has. */
  async is(at: { readonly namespace: string; readonly name: string }, state: State, nic = "blue"): Promise<Sight> {
    let last: State | undefined;
    const isSo = async () => {
      const sight = await this.look(at, nic);
      last = sight.state;
      return sight.state === state ? sight : undefined;
    };
    return until(isSo, { what: `${at.name} ${nic}: ${state}`, everyMs: 20, timeoutMs: patienceMs }).catch(
      (error: unknown) => {
        throw new Error(`${at.name} ${nic} is ${last}, not ${state}`, { cause: error });
      },
    );
  }

  claim(name: string): Promise<AnyObject | undefined> {
    return find(this.admin, claims, { namespace: this.namespace, name });
  }

  /** A claim that is so. */
  async claimIs(name: string, what: string, isSo: (claim: AnyObject) => boolean): Promise<AnyObject> {
    const found = async () => {
      const claim = await this.claim(name);
      return claim !== undefined && isSo(claim) ? claim : undefined;
    };
    return until(found, { what: `claim ${name}: ${what}`, everyMs: 20, timeoutMs: patienceMs });
  }

  /** What the story itself brings about, where a user does what no machine would. */
  forgives(rule: Rule): void {
    this.#forgiven.add(rule);
  }

  /** Whether somebody holds it; what rests is nobody's. */
  async held(address: string): Promise<boolean> {
    return (await heldAddresses(this.admin)).includes(address);
  }

  /** Everybody is deleted, everything is free, and no change of the whole story was wrong. */
  async verdict(): Promise<string[]> {
    await this.kubevirt.virt.kubelet.settle();
    const living = this.#judged(Checker.violationsOf(await this.record.whole()));
    if (living.length > 0) return living;
    if (this.leader === undefined) await this.lead(0);
    for (const machine of this.#machines) await this.#end(machine);
    await removeHandMade(this.admin, this.#namespaces);
    const left = await leftWhenFree(this.admin, this.#namespaces);
    const checker = new Checker();
    for (const change of await this.record.whole()) checker.see(change);
    return [...this.#judged(checker.violations), ...left, ...checker.remains()];
  }

  #judged(violations: readonly Violation[]): string[] {
    return violations.filter(({ rule }) => !this.#forgiven.has(rule)).map(({ message }) => message);
  }

  async close(): Promise<void> {
    clearInterval(this.#beating);
    await this.record?.stop();
    await this.leader?.stop();
    await this.kubevirt.virt.kubelet.settle();
    await this.nodes.close();
    for (const { name } of this.nodes.all) await removeNode(this.admin, name);
  }

  async #add(port: Port, signal: AbortSignal): Promise<readonly string[]> {
    try {
      return await this.nodes.add(port, signal);
    } catch (error) {
      this.refusals.push((error as Error).message);
      throw error;
    }
  }

  #lossy(name: string): Transport {
    return async (request) => {
      const response = await this.#options.transport(request);
      if (request.method === "GET" || this.loses?.(request) !== true) return response;
      this.loses = undefined;
      for await (const _ of response.body);
      this.nodes.all.find((each) => each.name === name)?.line.cut();
      throw new Error("the answer is lost");
    };
  }

  async #end(machine: Machine): Promise<void> {
    if (machine.vmUid !== undefined || machine.instance !== undefined) await this.kubevirt.delete(machine);
  }

  /** As kubelets do. One that is missed is followed by the next. */
  async #beat(): Promise<void> {
    for (const node of this.nodes.ready)
      await setReady(this.admin, node.name, "True", () => node.isReady).catch(() => {});
  }

  async #pace(moment: string): Promise<void> {
    const act = this.#moments.get(moment);
    this.#moments.delete(moment);
    await act?.();
    if (moment.endsWith("failed") || moment === "late DEL") await pause(50);
  }
}

export interface AnyConfig {
  [key: string]: unknown;
  ipam: Record<string, unknown>;
}
