// Real OVN on one machine: a control plane, and nodes as network namespaces, each with Open vSwitch and ovn-controller.
//
// Promised: when ovnLab() resolves every chassis is known everywhere and its tunnels are up; when close() resolves no
// process, namespace or file of it is left. Everything dies with this process too; what stays then is a folder, which
// the next lab removes (reaper.ts).
// Not promised: a kernel datapath: Open vSwitch forwards in its own process, and a busy machine is a slow network.
import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { parseAddress } from "../../../src/net/address.ts";
import { reap, removeCluster } from "../reaper.ts";
import { StateFile } from "../state.ts";
import { together } from "../wait.ts";
import { type GuestWishes, OvnGuest } from "./guest.ts";
import { Namespace } from "./namespace.ts";
import { OvnNode } from "./node.ts";
import { ensureOvn, type OvnPrograms, type OvnVersion } from "./packages.ts";
import { OvnPod, type PodPlan } from "./pod.ts";
import { centralAddress, Wiring } from "./wiring.ts";
import { Zone } from "./zone.ts";

export interface OvnLabOptions {
  /** 1 to 5. */
  readonly nodes: number;
  /** One control plane, or one on each node. */
  readonly zones: "one" | "interconnected";
  readonly version: OvnVersion;
  readonly signal?: AbortSignal;
  readonly log?: (line: string) => void;
}

/** A node takes 60 MB. */
const mostNodes = 5;
const southboundPort = 6642;

export async function ovnLab(options: OvnLabOptions): Promise<OvnLab> {
  const { nodes, version, log } = options;
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > mostNodes)
    throw new RangeError(`nodes: 1 to ${mostNodes}, not ${nodes}`);
  if (process.getuid?.() !== 0) throw new Error("the OVN lab needs root: it makes network namespaces");
  const programs = await ensureOvn(version, log);
  await reap().catch((error: Error) => log?.(`cannot remove what a dead lab left: ${error.message}`));
  const state = new StateFile(`ovn-${randomBytes(4).toString("hex")}`);
  try {
    return await start(options, programs, state);
  } catch (error) {
    await removeCluster(state.state);
    throw error;
  }
}

async function start({ nodes: count, zones: shape, signal }: OvnLabOptions, programs: OvnPrograms, state: StateFile) {
  const wiring = await Wiring.open(state);
  const one = shape === "one" ? await centralZone(wiring, programs, state, signal) : undefined;
  const tasks = Array.from({ length: count }, (_, at) => async (stopped: AbortSignal) => {
    const [name, index] = [`node${at + 1}`, at + 1];
    const folder = join(state.folder, name);
    const namespace = await Namespace.open(state, name);
    const own = { name, folder: join(folder, "zone"), place: namespace.place, programs, state };
    const zone = one ?? (await Zone.start(own, stopped));
    const southboundEndpoint = one === undefined ? zone.southboundEndpoint : `tcp:${centralAddress}:${southboundPort}`;
    const plan = { name, index, folder, wiring, namespace, southboundEndpoint, programs, state };
    return { node: await OvnNode.start(plan, stopped), zone };
  });
  const made = await together(tasks, signal);
  const nodes = made.map(({ node }) => node);
  const zones = one === undefined ? made.map(({ zone }) => zone) : [one];
  await introduce(zones, nodes, one !== undefined, signal);
  return new OvnLab({ state, programs, wiring, nodes, zones });
}

async function centralZone(wiring: Wiring, programs: OvnPrograms, state: StateFile, signal?: AbortSignal) {
  const { place } = wiring.underlay;
  const southboundRemote = `ptcp:${southboundPort}:${centralAddress}`;
  const folder = join(state.folder, "central");
  return await Zone.start({ name: "global", folder, place, programs, state, southboundRemote }, signal);
}

/** Every zone knows every chassis, its own ones by themselves; and every node has a tunnel to each other one. */
async function introduce(zones: readonly Zone[], nodes: readonly OvnNode[], isOne: boolean, signal?: AbortSignal) {
  if (!isOne) await introduceRemotes(zones, nodes, signal);
  const pairs = zones.flatMap((zone) => nodes.map((node) => [zone, node] as const));
  await Promise.all(pairs.map(([zone, node]) => zone.hasChassis(node.name, signal)));
  await Promise.all(nodes.map((node) => node.switch.hasTunnels(nodes.length - 1, signal)));
}

/** To each zone the nodes of all others. Ports of theirs that are there by now are bound to them. */
async function introduceRemotes(
  zones: readonly Zone[],
  nodes: readonly OvnNode[],
  signal?: AbortSignal,
): Promise<void> {
  const remotes = nodes.map(({ name, address }) => ({ name, chassis: name, tunnelAddress: parseAddress(address) }));
  await Promise.all(
    zones.map((zone) =>
      zone.knows(
        remotes.filter(({ name }) => name !== zone.name),
        signal,
      ),
    ),
  );
}

interface LabParts {
  readonly state: StateFile;
  readonly programs: OvnPrograms;
  readonly wiring: Wiring;
  readonly nodes: readonly OvnNode[];
  readonly zones: readonly Zone[];
}

export class OvnLab implements AsyncDisposable {
  readonly nodes: readonly OvnNode[];
  readonly zones: readonly Zone[];
  readonly programs: OvnPrograms;
  readonly wiring: Wiring;
  readonly #state: StateFile;
  readonly #guests = new Set<OvnGuest>();

  constructor({ state, programs, wiring, nodes, zones }: LabParts) {
    this.#state = state;
    this.programs = programs;
    this.wiring = wiring;
    this.nodes = nodes;
    this.zones = zones;
  }

  /** Logs, databases and sockets. */
  get folder(): string {
    return this.#state.folder;
  }

  /** The world outside: behind the external bridge of every node. */
  get outside(): Namespace {
    return this.wiring.outside;
  }

  node(name: string): OvnNode {
    const found = this.nodes.find((each) => each.name === name);
    if (found === undefined) throw new Error(`the lab has no node ${name}`);
    return found;
  }

  /** By its own name, or by that of a node in it; without a name, the only one. */
  zone(name: string = this.nodes[0]!.name): Zone {
    const found = this.zones.length === 1 ? this.zones[0] : this.zones.find((each) => each.name === name);
    if (found === undefined) throw new Error(`the lab has no zone ${name}`);
    return found;
  }

  /** Ports on the transit switch are where their nodes are; of one zone there are none. */
  async bindRemotes(signal?: AbortSignal): Promise<void> {
    if (this.zones.length > 1) await introduceRemotes(this.zones, this.nodes, signal);
  }

  /** For src/ovsdb's client. */
  northbound(zone?: string): string {
    return this.zone(zone).northboundEndpoint;
  }

  async pod(node: string, plan: PodPlan, signal?: AbortSignal): Promise<OvnPod> {
    return await OvnPod.start(this.#state, this.node(node), plan, signal);
  }

  /** Boots it; its address comes by DHCP (`leased`). */
  async guest(node: string, plan: GuestWishes, signal?: AbortSignal): Promise<OvnGuest> {
    const guest = await OvnGuest.boot(this.node(node), { ...plan, folder: this.folder }, signal);
    this.#guests.add(guest);
    return guest;
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#guests].map((guest) => guest.close()));
    await Promise.allSettled([...this.nodes, ...this.zones].map((each) => each.close()));
    await removeCluster(this.#state.state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
