// Nodes without kubelets: a daemon with its own journal for each, and controllers, all in this process, each on its own
// line to one API server. Pods are objects; a sandbox is a name. The audit has what live sandboxes were told.
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { networkAttachmentDefinitions, nodes, pods } from "../../src/cluster/resources.ts";
import { fetchState, readState } from "../../src/cluster/state.ts";
import type { Clock } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { haste, hastened } from "../haste.ts";
import { until } from "../lab/wait.ts";
import { DaemonFixture, type DaemonFixtureOptions } from "../node/daemon-fixture.ts";
import { network as configOf, type Server } from "../node/fixture.ts";
import { podArgs, type Told } from "../node/shim.ts";
import { dangers, type Given, remains } from "./audit.ts";
import { type Books, readBooks } from "./books.ts";
import { Leader, type LeaderSettings } from "./leader.ts";
import { Line } from "./line.ts";

export const systemNamespace = "kube-system";

/** A pod that is bound to a node, with the sandbox it has now. */
export interface Guest {
  readonly node: string;
  readonly name: string;
  readonly uid: string;
  sandbox: string;
}

export interface Network {
  readonly name: string;
  /** network_name; empty: none. */
  readonly network: string;
  /** Of the definition, and of its pools where `pool_namespace` says so. */
  readonly namespace: string;
  readonly config: object;
}

export interface FixtureNode {
  readonly name: string;
  readonly line: Line;
  readonly daemonFixture: DaemonFixture;
  /** Of the machine, whatever daemon runs on it. */
  readonly clock: ShiftedClock;
}

/** Hours that a test can let pass: nothing of it waits longer or shorter. */
class ShiftedClock implements Clock {
  readonly #clock: Clock;
  shiftMs = 0;
  /** Of the wall clock alone: a hypervisor paused the machine, or somebody set it. */
  setMs = 0;
  constructor(clock: Clock) {
    this.#clock = clock;
  }
  wallMs(): number {
    return this.#clock.wallMs() + this.shiftMs + this.setMs;
  }
  monotonicMs(): number {
    return this.#clock.monotonicMs() + this.shiftMs;
  }
  after(delayMs: number, callback: () => void): () => void {
    return this.#clock.after(delayMs, callback);
  }
}

export class Fixture {
  readonly admin: KubeClient;
  /** Of all that is not the controller's. */
  readonly #clock: Clock;
  /** The controller's. */
  readonly clock: ShiftedClock;
  readonly #server: Pick<Server, "transport">;
  readonly #daemons: Partial<DaemonFixtureOptions>;
  /** Key: node name. */
  readonly #nodes = new Map<string, FixtureNode>();
  readonly #retired: FixtureNode[] = [];
  readonly #leaders: Leader[] = [];
  /** Key: sandbox and interface and address. */
  readonly #given = new Map<string, Given>();
  #number = 0;

  /** `daemons`: options beside the node. `factor`: clock speed; a busy machine must answer an ADD in 25 s of it. */
  constructor(server: Pick<Server, "transport">, daemons: Partial<DaemonFixtureOptions> = {}, factor = haste / 2) {
    this.#server = server;
    this.#daemons = daemons;
    this.#clock = hastened(factor);
    this.clock = new ShiftedClock(this.#clock);
    this.admin = new KubeClient({ transport: server.transport });
  }

  /** All that it started ends; what is on the server stays. */
  async close(): Promise<void> {
    for (const leader of this.#leaders) await leader.stop();
    for (const { daemonFixture, line } of [...this.#nodes.values(), ...this.#retired].toReversed()) {
      line.heal();
      await daemonFixture[Symbol.asyncDispose]();
    }
  }

  /** A name that nothing else in this fixture has. */
  fresh(prefix: string): string {
    this.#number += 1;
    return `${prefix}-${this.#number}`;
  }

  /** A controller that leads at once: the lease is not what these stories are about. */
  lead(settings: LeaderSettings = {}): Leader {
    const line = new Line(this.#server.transport);
    const leader = Leader.start({ line, clock: this.clock, unshifted: this.#clock, systemNamespace, ...settings });
    this.#leaders.push(leader);
    return leader;
  }

  /** None of them does another write. */
  async killLeaders(): Promise<void> {
    for (const leader of this.#leaders) await leader.kill();
  }

  /** A leader that has said that whereabouts is away: one that meets a shared pool first waits two minutes for it. */
  async ledAlone(): Promise<void> {
    this.lead();
    const isSaid = async () => {
      const state = await fetchState(this.admin, { namespace: systemNamespace });
      return state !== undefined && !readState(state).coexistence;
    };
    await until(isSaid, { what: "the leader's word", everyMs: 100, timeoutMs: 60_000 });
  }

  /** The Node object and a daemon for it. */
  async join(name: string): Promise<FixtureNode> {
    await this.addNode(name);
    return this.#begin(name);
  }

  /** The same daemon on the same disk. */
  async restart(name: string): Promise<FixtureNode> {
    const before = this.node(name);
    await before.daemonFixture.stop();
    this.#retired.push(before);
    return this.#begin(name, { state: join(before.daemonFixture.folder, "state") });
  }

  /** Its daemon ends; the machine's clock is ten minutes on when the next one begins. */
  async sleep(name: string): Promise<void> {
    const { daemonFixture, clock } = this.node(name);
    await daemonFixture.stop();
    clock.shiftMs += 600_000;
  }

  /** The same name on an empty disk. The old daemon has ended. */
  async rejoin(name: string): Promise<FixtureNode> {
    this.#retired.push(this.node(name));
    return this.#begin(name);
  }

  /** The same disk under another name. The old daemon has ended. */
  async joinAs(name: string, { daemonFixture }: FixtureNode): Promise<FixtureNode> {
    await this.addNode(name);
    return this.#begin(name, { state: join(daemonFixture.folder, "state") });
  }

  async #begin(name: string, more: { readonly state?: string } = {}): Promise<FixtureNode> {
    const line = new Line(this.#server.transport);
    const clock = this.#nodes.get(name)?.clock ?? new ShiftedClock(this.#clock);
    const common = { ...this.#daemons, clock };
    const daemonFixture = await DaemonFixture.start({ ...common, transport: line.transport, node: name, ...more });
    const made = { name, line, daemonFixture, clock };
    this.#nodes.set(name, made);
    return made;
  }

  async addNode(name: string): Promise<void> {
    await this.admin.create(nodes, { metadata: { name } });
  }

  /** The Node object only: its daemon runs on until somebody stops it. */
  async removeNode(name: string): Promise<void> {
    await this.admin.delete(nodes, { name });
  }

  node(name: string): FixtureNode {
    const found = this.#nodes.get(name);
    if (found === undefined) throw new Error(`no node ${name} has joined`);
    return found;
  }

  /** The definition, as a person writes it. */
  async define(name: string, ipam: object, namespace = "default"): Promise<Network> {
    const made = networkOf(name, ipam, namespace);
    const spec = { config: JSON.stringify(made.config) };
    await this.admin.create(networkAttachmentDefinitions, { metadata: { name, namespace }, spec });
    return made;
  }

  async redefine({ name, namespace }: Network, ipam: object): Promise<Network> {
    const made = networkOf(name, ipam, namespace);
    const body = { spec: { config: JSON.stringify(made.config) } };
    await this.admin.patch(networkAttachmentDefinitions, { namespace, name }, { type: "merge", body });
    return made;
  }

  async undefine({ name, namespace }: Network): Promise<void> {
    await this.admin.delete(networkAttachmentDefinitions, { namespace, name });
  }

  /** `of`: the definition of its net1. Without it nobody knows whose the network is, and it decides about no pool. */
  async pod(node: string, prefix = "pod", of?: Network): Promise<Guest> {
    const name = this.fresh(prefix);
    const spec = { nodeName: node, containers: [{ name: "c", image: "none" }] };
    const selected = of && { "k8s.v1.cni.cncf.io/networks": `${of.namespace}/${of.name}@net1` };
    const described = { namespace: "default", name, ...(selected && { annotations: selected }) };
    const { metadata } = await this.admin.create(pods, { metadata: described, spec });
    return { node, name, uid: metadata.uid ?? "", sandbox: `${name}-0` };
  }

  ask(command: string, guest: Guest, { config }: Network, interfaceName = "net1"): Promise<Told> {
    const args = podArgs("default", guest.name, guest.uid);
    return this.node(guest.node).daemonFixture.ask({ command, container: guest.sandbox, interfaceName, args, config });
  }

  /** One ADD. What it was told counts as in use from now on. */
  async tryAdd(guest: Guest, network: Network, interfaceName = "net1"): Promise<Told> {
    const told = await this.ask("ADD", guest, network, interfaceName);
    if (told.status !== 0) return told;
    for (const address of addressesOf(told)) this.#note(guest, network, interfaceName, address);
    return told;
  }

  /** As a runtime does it: again and again, each time after a DEL of the sandbox that failed, in a new one. */
  async add(guest: Guest, network: Network, interfaceName = "net1"): Promise<string[]> {
    let sandboxes = 0;
    const what = `an address for ${guest.name} on ${guest.node}`;
    return until(
      async () => {
        const told = await this.tryAdd(guest, network, interfaceName);
        if (told.status === 0) return addressesOf(told);
        await this.ask("DEL", guest, network, interfaceName);
        guest.sandbox = `${guest.name}-${++sandboxes}`;
        throw new Error(`${told.json.msg} ${told.json.details ?? ""}`);
      },
      { what, everyMs: 100 },
    );
  }

  /** The sandbox is gone, whatever the daemon answers. */
  async tryDel(guest: Guest, network: Network, interfaceName = "net1"): Promise<Told> {
    this.forget(guest, interfaceName);
    return this.ask("DEL", guest, network, interfaceName);
  }

  async del(guest: Guest, network: Network, interfaceName = "net1"): Promise<void> {
    const told = await this.tryDel(guest, network, interfaceName);
    if (told.status !== 0) throw new Error(`DEL of ${guest.name} failed: ${told.text}`);
  }

  /** DEL, and the object goes too. */
  async end(guest: Guest, network: Network): Promise<void> {
    await this.del(guest, network);
    await this.endPod(guest);
  }

  async endPod({ name }: Guest): Promise<void> {
    try {
      await this.admin.delete(pods, { namespace: "default", name }, { gracePeriodSeconds: 0 });
    } catch (error) {
      if (!isApiError(error, "not-found")) throw error;
    }
  }

  /** Its sandbox went without a word, as with a node that lost power for good. */
  forget({ sandbox }: Guest, interfaceName = "net1"): void {
    for (const key of this.#given.keys()) if (key.startsWith(`${sandbox} ${interfaceName} `)) this.#given.delete(key);
  }

  get given(): readonly Given[] {
    return [...this.#given.values()];
  }

  books(): Promise<Books> {
    return readBooks(this.admin);
  }

  /** What must never be, at this moment. */
  async dangers(): Promise<string[]> {
    // The books first: what is given and released while they are read would else look like another's.
    const before = new Set(this.given);
    const books = await this.books();
    return dangers(
      books,
      this.given.filter((each) => before.has(each)),
    );
  }

  /** Waits until all have caught up with each other, and what is on record is what sandboxes have. */
  async settle(timeoutMs = 60_000): Promise<Books> {
    return until(
      async () => {
        const books = await this.books();
        const found = [...dangers(books, this.given), ...remains(books, this.given)];
        if (found.length === 0) return books;
        throw new Error(found.join("\n"));
      },
      { what: "the fixture to settle", everyMs: 250, timeoutMs },
    );
  }

  #note(guest: Guest, { network, namespace, config }: Network, interfaceName: string, address: string): void {
    const own = (config as { ipam: { pool_namespace?: string } }).ipam.pool_namespace === "nad";
    const key = `${guest.sandbox} ${interfaceName} ${address}`;
    this.#given.set(key, {
      node: guest.node,
      namespace: own ? namespace : systemNamespace,
      network,
      address: address.split("/")[0] ?? "",
      who: `default/${guest.name} ${interfaceName}`,
      container: guest.sandbox,
    });
  }
}

function addressesOf({ json }: Told): string[] {
  return json.ips.map(({ address }: { address: string }) => address);
}

function networkOf(name: string, ipam: object, namespace: string): Network {
  const { network_name: network = "" } = ipam as { network_name?: string };
  return { name, network, namespace, config: configOf(name, ipam) };
}

/** A moment in which everybody may act; for stories in which nothing must happen. */
export const moment = () => pause(1500);
