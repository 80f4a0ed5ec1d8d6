// One node's SliceKeeper on the embedded API, with its real journal in a folder; the test plays the controller.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { nodeLabel, nodeLabelName } from "../../src/api/holds/hold-marks.ts";
import { writeAllocations } from "../../src/api/pools/allocations.ts";
import { poolName } from "../../src/api/pools/pool-name.ts";
import { nodeLeaseName, readNodeSlices, slicesAnnotation, writeNodeSlices } from "../../src/api/slices/node-lease.ts";
import type { NodeSlices } from "../../src/api/slices/node-lease.ts";
import type { SliceGrant } from "../../src/api/slices/slice-grant.ts";
import {
  grantAnnotation,
  type NodeWord,
  readGrant,
  readNodeWord,
  sliceLabelName,
  slicedRangeAnnotation,
  slicePoolAnnotation,
  writeGrant,
} from "../../src/api/slices/slice-grant.ts";
import type { Api } from "../../src/apiserver/api.ts";
import { ipPools, leases, nodeSlicePools, pods, type StoredPool } from "../../src/cluster/resources.ts";
import type { Hold } from "../../src/ipam/ledger.ts";
import { type PodOwner } from "../../src/ipam/owner.ts";
import { Informer } from "../../src/kube/cache/informer.ts";
import type { Clock } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import { parseKey } from "../../src/kube/meta.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import type { JournalDisk } from "../../src/ledger/journal/disk.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { silent } from "../../src/log/log.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { SliceAgent } from "../../src/node/slices/agent.ts";
import type { Memory, Moment } from "../../src/node/slices/authority.ts";

export const namespace = "kube-system";
const network = "net";
const range = parsePrefix("10.0.0.0/24");
export const use = { namespace, network, range };
export const domain = `slice:${namespace}/${network}`;
export const slice = "10.0.0.0/28";

/** Time at 40 times its speed, so that a second of the daemon is 25 ms here. Nothing is asserted of time. */
const factor = 40;
const quickClock: Clock = {
  wallMs: () => Date.UTC(2026, 0, 1) + performance.now() * factor,
  monotonicMs: () => performance.now() * factor,
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.max(delayMs, 0) / factor);
    return () => clearTimeout(timer);
  },
};

export const keyOfSlice = (block: string, node = "n1") =>
  `${namespace}/${poolName({ range: parsePrefix(block), network, node })}`;
export const podOwner = (name: string): PodOwner => ({
  kind: "pod",
  uid: `uid-${name}`,
  namespace: "default",
  name,
  interface: "net1",
  containerId: `c-${name}`,
});

export interface RunningNode {
  readonly keeper: SliceAgent;
  readonly journal: Journal;
  /** Told by `onMoved`. */
  readonly moved: readonly Hold[];
  readonly orphans: () => number;
  stop(): Promise<void>;
}

export interface NodeOptions {
  readonly transport?: Transport;
  readonly disk?: JournalDisk;
  readonly node?: string;
  readonly seenVersion?: () => number;
}

/** One cluster and the disks of its nodes. */
export class AgentFixture {
  readonly api: Pick<Api, "transport" | "close">;
  /** Of the test, never disturbed. */
  readonly client: KubeClient;
  #folder = mkdtempSync(join(tmpdir(), "holdfast-keeper-"));
  readonly #running = new Set<RunningNode>();
  /** What the node's own clocks say. */
  moment: Moment = { bootId: "boot", uptimeMs: 3_600_000, wallMs: Date.UTC(2026, 0, 1) };
  #note: string | undefined;

  constructor(api: Pick<Api, "transport" | "close">) {
    this.api = api;
    this.client = new KubeClient({ transport: api.transport });
  }

  /** The machine is made anew: nothing is left of its disk. */
  reimage(): void {
    rmSync(this.#folder, { recursive: true });
    this.#folder = mkdtempSync(join(tmpdir(), "holdfast-keeper-"));
    this.#note = undefined;
  }

  get folder(): string {
    return this.#folder;
  }

  async start({
    transport = this.api.transport,
    disk,
    node = "n1",
    seenVersion = () => 1,
  }: NodeOptions = {}): Promise<RunningNode> {
    const journal = await Journal.open({ folder: this.#folder, now: () => quickClock.wallMs(), ...(disk && { disk }) });
    const client = new KubeClient({ transport });
    const stop = new AbortController();
    const informer = new Informer({
      client,
      resource: pods,
      scope: { fieldSelector: `spec.nodeName=${node}` },
      clock: quickClock,
    });
    const memory: Memory = {
      read: () => Promise.resolve(this.#note),
      write: (text) => Promise.resolve(void (this.#note = text)),
    };
    const moved: Hold[] = [];
    let orphans = 0;
    const keeper = new SliceAgent({
      client,
      node,
      systemNamespace: namespace,
      journal,
      pods: informer,
      seenVersion,
      ledgerOf: (each) =>
        new ReservationLedger({ client, namespace: each, node, now: () => quickClock.wallMs(), clock: quickClock }),
      onMoved: (_, hold) => moved.push(hold),
      onOrphan: () => (orphans += 1),
      cooldownMs: 1000,
      // One whose disk hangs does not keep the others from being shown: some stories look at two.
      workers: 4,
      onRestore: () => {},
      restoreNote: () => undefined,
      moment: () => this.moment,
      memory,
      clock: quickClock,
      random: () => 0.5,
      tell: () => {},
      log: silent,
    });
    const running = Promise.all([informer.run(stop.signal), keeper.run(stop.signal)]);
    const handle: RunningNode = {
      keeper,
      journal,
      moved,
      orphans: () => orphans,
      stop: async () => {
        this.#running.delete(handle);
        stop.abort(new Error("the test stops the daemon"));
        await running;
        await journal.close();
      },
    };
    this.#running.add(handle);
    return handle;
  }

  async close(): Promise<void> {
    for (const each of this.#running) await each.stop();
    rmSync(this.#folder, { recursive: true });
    this.api.close();
  }

  /** The controller grants a slice: the object, then the Lease. */
  async grant(block: string, given: Partial<SliceGrant> = {}, held: Record<string, PodOwner> = {}): Promise<void> {
    const grant = await this.grantTo("n1", block, given, held);
    await this.name(block, `${grant.generation}.${grant.serial}`);
  }

  /** The object of any node's slice. */
  async grantTo(
    node: string,
    block: string,
    given: Partial<SliceGrant> = {},
    held: Record<string, PodOwner> = {},
  ): Promise<SliceGrant> {
    const grant: SliceGrant = { generation: 1, serial: 1, phase: "active", without: [], taken: [], ...given };
    const { name } = parseKey(keyOfSlice(block, node));
    const entries = Object.entries(held).map(([text, owner]) => ({ address: parseAddress(text), owner }));
    await this.client.create(ipPools, {
      metadata: {
        namespace,
        name,
        labels: { [sliceLabelName]: "true", [nodeLabelName]: nodeLabel(node) },
        annotations: { ...marks, "holdfast.io/node": node, [grantAnnotation]: writeGrant(grant) },
      },
      spec: { range: block, allocations: writeAllocations(block, entries) },
    });
    return grant;
  }

  /** Changes a grant, as the controller does: the serial rises, also above the node's; guarded by the version. */
  async change(block: string, edit: (grant: SliceGrant) => Partial<SliceGrant>): Promise<void> {
    const object = await this.object(block);
    const before = readGrant(object.metadata)!;
    const said = readNodeWord(object.metadata)?.serial ?? 0;
    const grant: SliceGrant = { ...before, ...edit(before), serial: 1 + Math.max(before.serial, said) };
    const annotations = { ...object.metadata.annotations, [grantAnnotation]: writeGrant(grant) };
    try {
      await this.client.update(ipPools, { ...object, metadata: { ...object.metadata, annotations } });
    } catch (error) {
      if (!isApiError(error, "conflict")) throw error;
      return this.change(block, edit);
    }
    await this.name(block, `${grant.generation}.${grant.serial}`);
  }

  /** Undefined: the Lease names it no more. */
  async name(block: string, version: string | undefined): Promise<void> {
    await this.tellLease((slices) => {
      const { [keyOfSlice(block)]: _, ...others } = slices.grants;
      return { ...slices, grants: version === undefined ? others : { ...others, [keyOfSlice(block)]: version } };
    });
  }

  async tellLease(edit: (slices: NodeSlices) => NodeSlices): Promise<void> {
    const at = { namespace, name: nodeLeaseName("n1") };
    const write = (before: string | undefined) => ({
      metadata: { annotations: { [slicesAnnotation]: writeNodeSlices(edit(readNodeSlices(before))) } },
    });
    try {
      const lease = await this.client.get(leases, at);
      const body = write(lease.metadata.annotations?.[slicesAnnotation]);
      await this.client.patch(leases, at, { type: "merge", body });
    } catch (error) {
      if (!isApiError(error, "not-found")) throw error;
      // Daemon and controller may both be the first.
      await this.client.create(leases, { metadata: at, spec: {} }).catch(() => {});
      await this.client.patch(leases, at, { type: "merge", body: write(undefined) });
    }
  }

  async object(block: string): Promise<StoredPool> {
    const { namespace: place = "", name } = parseKey(keyOfSlice(block));
    return this.client.get(ipPools, { namespace: place, name });
  }

  async word(block: string): Promise<NodeWord | undefined> {
    return readNodeWord((await this.object(block)).metadata);
  }

  /** offset -> pod, as the mirror has it */
  async entries(block: string): Promise<Record<string, string>> {
    const { allocations } = (await this.object(block)).spec;
    return Object.fromEntries(Object.entries(allocations).map(([key, { podref }]) => [key, podref]));
  }

  async remove(block: string): Promise<void> {
    const { namespace: place = "", name } = parseKey(keyOfSlice(block));
    await this.client.delete(ipPools, { namespace: place, name });
  }

  /** Somebody else records an address of the shared range. */
  async reserve(address: string, pod: string): Promise<void> {
    const ledger = new ReservationLedger({ client: this.client, namespace, now: () => quickClock.wallMs() });
    await ledger.take({ domain: `network:${network}`, address: parseAddress(address), owner: podOwner(pod) });
  }

  async slicePool(
    lastGeneration: number,
    allocations: readonly { nodeName: string; sliceRange: string }[],
  ): Promise<void> {
    const made = await this.client.create(nodeSlicePools, {
      metadata: { namespace, name: network },
      spec: { range: String(range), sliceSize: "/28" },
    });
    const status = { lastGeneration, allocations: [...allocations] };
    await this.client.update(nodeSlicePools, { ...made, status });
  }

  async pod(name: string, more: { annotations?: Record<string, string>; phase?: string } = {}): Promise<void> {
    const spec = { nodeName: "n1", containers: [{ name: "c", image: "i" }] };
    const { annotations = {} } = more;
    await this.client.create(pods, { metadata: { namespace: "default", name, annotations }, spec });
    const body = { status: { phase: more.phase ?? "Running" } };
    await this.client.patch(pods, { namespace: "default", name }, { type: "merge", body }, { subresource: "status" });
  }
}

const marks = {
  "holdfast.io/network-name": network,
  [slicePoolAnnotation]: network,
  [slicedRangeAnnotation]: String(range),
};

export async function take(
  node: RunningNode,
  address: string,
  pod: string,
  owner: PodOwner = podOwner(pod),
): Promise<string> {
  const result = await node.journal.take({ domain, address: parseAddress(address), owner });
  return result.outcome;
}

/** The addresses that the journal holds, in order of their text. */
export function heldBy({ journal }: RunningNode): string[] {
  return Array.from(journal.holds(), ({ address }) => String(address)).sort();
}
