// What the stories of migrations stand on: the embedded API, KubeVirt played as the real one was seen, nodes with
// subnets, leaders that can be stopped and followed by others, and a northbound that outlives them.
import { expect } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import { type Node, nodes, pods } from "../../src/cluster/resources.ts";
import { Informer } from "../../src/kube/cache/informer.ts";
import { type Clock, realClock, unrefClock } from "../../src/kube/clock.ts";
import { EventRecorder } from "../../src/kube/events/events.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { silent } from "../../src/log/log.ts";
import { MigrationLeader } from "../../src/migration/leader/leader.ts";
import type { MigrationOptions } from "../../src/migration/leader/options.ts";
import { type AddressSource, oneZone } from "../../src/migration/leader/placement-writer.ts";
import type { Move } from "../../src/migration/neighbours/announcements.ts";
import { macOfAddresses } from "../../src/migration/objects/vm-mac.ts";
import { plus } from "../../src/net/address.ts";
import { install } from "../claims/kubevirt/crds.ts";
import { Kubevirt } from "../claims/kubevirt/kubevirt.ts";
import type { Launcher } from "../claims/kubevirt/launcher.ts";
import type { Machine } from "../claims/kubevirt/machine.ts";
import type { Migration } from "../claims/kubevirt/migration.ts";
import { addNode } from "../claims/kubevirt/nodes.ts";
import { until } from "../lab/wait.ts";
import type { Server } from "../node/fixture.ts";
import { RecordingWriter } from "./recording-writer.ts";

const events = defineResource<
  KubeObject & { type: string; reason: string; message: string; involvedObject: { kind: string; name: string } }
>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});
const namespace = "default";
const subnetsAnnotation = "k8s.ovn.org/node-subnets";
export const networksAnnotation = "k8s.ovn.org/pod-networks";

/** Each node's subnets are numbered by the digit in its name. */
export const subnetsOf = (digit: number | string) => [`10.244.${digit}.0/24`, `fd10:244:0:${digit}::/64`];

export class Fixture {
  readonly server: Server;
  readonly client: KubeClient;
  readonly kubevirt: Kubevirt;
  readonly writer = new RecordingWriter();
  readonly moves: string[] = [];
  /** The API server's clock runs ahead by a second with each step of KubeVirt: creations differ by whole seconds. */
  #aheadMs = 0;
  #lastAddress = 3;
  #home = "n1";
  readonly #running = new Set<Running>();

  private constructor(server: Server | undefined) {
    const clock: Clock = { ...unrefClock, wallMs: () => unrefClock.wallMs() + this.#aheadMs };
    this.server = server ?? embedded(clock);
    this.client = new KubeClient({ transport: this.server.transport });
    const cni = { add: async () => [], del: async () => {} };
    const pace = async () => void (this.#aheadMs += 1000);
    this.kubevirt = new Kubevirt({ client: this.client, cni, place: () => this.#home, pace });
  }

  /** Default: the embedded API. On another server two migrations of a VM in the same second are one too many. */
  static async open(server?: Server): Promise<Fixture> {
    const fixture = new Fixture(server);
    await install(fixture.client);
    for (const digit of [1, 2, 3]) await fixture.addNode(`n${digit}`, subnetsOf(digit));
    return fixture;
  }

  async close(): Promise<void> {
    for (const each of this.#running) await each.stop();
    await this.server.stop();
  }

  async addNode(name: string, subnets: readonly string[]): Promise<void> {
    await addNode(this.client, name);
    const annotations = { [subnetsAnnotation]: JSON.stringify({ default: subnets }) };
    await this.client.patch(nodes, { name }, { type: "merge", body: { metadata: { annotations } } });
  }

  async lead(more: Partial<MigrationOptions> = {}): Promise<Running> {
    const running = new Running(this, more);
    this.#running.add(running);
    await running.ready();
    return running;
  }

  /** Runs, and has its row. */
  async started(name: string, home = "n1", zone = "global"): Promise<Machine> {
    this.#home = home;
    const annotations = { "kubevirt.io/allow-pod-bridge-network-live-migration": "" };
    const machine = await this.kubevirt.create({ namespace, name, nics: [], annotations });
    expect(await this.kubevirt.start(machine)).toBe(true);
    await this.shows(name, `${home} of ${home}: ${home}*`, zone);
    return machine;
  }

  /** Both pods run, and the guest is at the source. */
  async begun(machine: Machine, node: string): Promise<Migration> {
    const migration = await this.kubevirt.migrate(machine, { node });
    expect(await migration.handOver()).toBe(true);
    return migration;
  }

  async migrated(machine: Machine, node: string): Promise<Migration> {
    const migration = await this.begun(machine, node);
    await migration.succeed();
    return migration;
  }

  async shows(vm: string, row: string, zone = "global"): Promise<void> {
    const ask = async () => this.writer.of(`${namespace}/${vm}`, zone) === row;
    await until(ask, { what: `${zone} to show ${row} for ${vm}`, everyMs: 5, timeoutMs: 20_000 }).catch(
      (error: unknown) => {
        throw new Error(`${vm} in ${zone} is ${this.writer.of(`${namespace}/${vm}`, zone)}, not ${row}`, {
          cause: error,
        });
      },
    );
  }

  annotationsOf({ at }: Launcher): Promise<Record<string, string>> {
    return this.client.get(pods, at).then(({ metadata }) => metadata.annotations ?? {});
  }

  async annotate({ at }: Launcher, annotations: Record<string, string>): Promise<void> {
    await this.client.patch(pods, at, { type: "merge", body: { metadata: { annotations } } });
  }

  /** `REASON of NAME: WORDS`. */
  async events(reason: string): Promise<string[]> {
    const { items } = await this.client.list(events);
    const found = items.filter((each) => each.reason === reason);
    return found.map(({ involvedObject, message }) => `${involvedObject.kind} ${involvedObject.name}: ${message}`);
  }

  told(reason: string): Promise<string[]> {
    const ask = async () => {
      const found = await this.events(reason);
      return found.length > 0 && found;
    };
    return until(ask, { what: `an event ${reason}`, everyMs: 10 });
  }

  /** The lowest free of the node's subnets, the same last part in both families. */
  readonly addresses: AddressSource = {
    take: async (_, subnets) => {
      if (subnets.length === 0) return undefined;
      this.#lastAddress += 1;
      const addresses = subnets.map((prefix) => ({ prefix, address: plus(prefix.network, this.#lastAddress)! }));
      const mac = macOfAddresses(addresses.map(({ address }) => address))!;
      return { addresses, mac, gateways: [], routes: [], role: "primary" };
    },
  };
}

function embedded(clock: Clock): Server {
  const api = openApi({ path: ":memory:", clock });
  return { transport: api.transport, stop: async () => api.close() };
}

/** A leader, until it is stopped. */
class Running {
  readonly leader: MigrationLeader;
  readonly #stopping = new AbortController();
  readonly #ready: Promise<unknown>;
  readonly #done: Promise<unknown>;

  constructor({ client, writer, addresses, moves }: Fixture, more: Partial<MigrationOptions>) {
    const { signal } = this.#stopping;
    const followed = new Informer<Node>({ client, clock: realClock, resource: nodes });
    const recorder = new EventRecorder({ client, component: "holdfast", instance: "test", random: () => 0 });
    this.leader = new MigrationLeader({
      client,
      clock: realClock,
      log: silent,
      systemNamespace: "kube-system",
      nodes: followed,
      events: recorder,
      writer,
      zones: oneZone(),
      addresses,
      lookEveryMs: 50,
      onMove: (move) => void moves.push(wordsOf(move)),
      ...more,
    });
    const informers = [followed, ...this.leader.informers];
    this.#ready = Promise.all(informers.map((each) => each.synced(signal)));
    this.#done = Promise.all([
      ...informers.map((each) => each.run(signal)),
      ...this.leader.follows.map((each) => each.run(signal, () => {})),
      recorder.run(signal),
      this.leader.lead.run(signal, () => {}),
    ]);
  }

  async ready(): Promise<void> {
    await this.#ready;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }
}

function wordsOf({ from, to }: Move): string {
  return `${to.name} ${from} > ${to.activeNode}`;
}
