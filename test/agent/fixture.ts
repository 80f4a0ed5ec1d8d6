// What tests of the agent stand on: the embedded API server, pools and Holds as the controller writes them, agents on a
// played Ethernet. An agent's connection to the API server can be cut, and an agent can be killed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Registry } from "prom-client";

import { runAgent } from "../../src/agent/agent.ts";
import type { Target } from "../../src/agent/target.ts";
import { definitionOf } from "../../src/api/definition.ts";
import { holdName } from "../../src/api/holds/hold-object.ts";
import { kinds, managedDhcpKinds } from "../../src/api/kinds.ts";
import type { ManagedPool } from "../../src/api/vmnet/managed-pool.ts";
import { quarantineAnnotation, serverLeaseName } from "../../src/api/vmnet/marks.ts";
import { type Api, openApi } from "../../src/apiserver/api.ts";
import { holds, leases, managedPools } from "../../src/cluster/resources.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import type { Clock } from "../../src/kube/clock.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { KubeMetrics } from "../../src/kube/process/metrics.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { NotSentError, type Transport } from "../../src/kube/transport/transport.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { makeLog } from "../../src/log/log.ts";
import { ip } from "../dhcp/packet.ts";
import { hastened } from "../haste.ts";
import { PlayedEthernet, type PlayedWire } from "./played-wire.ts";

const system = "kube-system";
export const network = "default/net-48";
export const pool = "default/pool-48";
export const serverAddress = "192.168.48.2";
const domain = "vm-network:default/net-48";

const crds = defineResource({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const namespaces = defineResource({
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
});
const events = defineResource<
  KubeObject & { reason: string; message: string; involvedObject: { kind: string; name: string } }
>({ group: "", version: "v1", plural: "events", kind: "Event", namespaced: true });

type PoolConfig = Partial<ManagedPool["spec"]["ipv4Config"]>;

/** Three seconds of a Lease take one. */
const haste = 3;

export class AgentFixture {
  readonly api: Api = openApi({ path: ":memory:" });
  readonly client = new KubeClient({ transport: this.api.transport });
  readonly ethernet = new PlayedEthernet();
  readonly clock: Clock = hastened(haste);
  readonly #agents: PlayedAgent[] = [];
  readonly #folders: string[] = [];

  static async open(): Promise<AgentFixture> {
    const fixture = new AgentFixture();
    const { client, api } = fixture;
    for (const definition of [...kinds, ...managedDhcpKinds].map(definitionOf)) {
      await client.create(crds, definition);
    }
    for (const name of [system, "default"]) {
      await client.create(namespaces, { metadata: { name } }).catch(() => {});
    }
    await api.settled();
    return fixture;
  }

  async close(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.end()));
    this.api.close();
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true });
  }

  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "agent-"));
    this.#folders.push(folder);
    return folder;
  }

  async makePool(config: PoolConfig = {}, key = pool, networkName = network): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    await this.client.create(managedPools, {
      metadata: { namespace, name },
      spec: { networkName, ipv4Config: { cidr: "192.168.48.0/24", serverIP: serverAddress, ...config } },
    });
  }

  async changePool(spec: object, key = pool): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    await this.client.patch(managedPools, { namespace, name }, { type: "merge", body: { spec } });
  }

  async deletePool(key = pool): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    await this.client.delete(managedPools, { namespace, name });
  }

  /** As the controller takes an address for a VM's NIC. */
  async bind(address: string, mac: string, vm = "vm-1", ofPool = pool): Promise<void> {
    const outcome = await this.#ledger.take({
      domain,
      address: ip(address),
      owner: ownerOf(mac, vm),
      note: { pool: ofPool, mac },
    });
    if (outcome.outcome !== "taken" && outcome.outcome !== "yours") throw new Error(`${address}: ${outcome.outcome}`);
  }

  async release(address: string, mac: string, vm = "vm-1", cooldownMs = 600_000): Promise<void> {
    await this.#ledger.release({ domain, address: ip(address), owner: ownerKey(ownerOf(mac, vm)), cooldownMs });
  }

  /** Takes it away, whatever state it is in. */
  async unbind(address: string): Promise<void> {
    await this.client.delete(holds, { namespace: system, name: holdName(domain, ip(address)) });
  }

  /** As an administrator who has found the other host. */
  async endQuarantine(address: string): Promise<void> {
    const at = { namespace: system, name: holdName(domain, ip(address)) };
    const body = { metadata: { annotations: { [quarantineAnnotation]: null } } };
    await this.client.patch(holds, at, { type: "merge", body });
  }

  hold(address: string) {
    return this.client.get(holds, { namespace: system, name: holdName(domain, ip(address)) });
  }

  async leaseHolder(key = pool): Promise<string> {
    const [namespace = "", name = ""] = key.split("/");
    const lease = await this.client.get(leases, { namespace: system, name: serverLeaseName({ namespace, name }) });
    return lease.spec?.holderIdentity ?? "";
  }

  /** `KIND NAME REASON`. */
  async events(): Promise<string[]> {
    const { items } = await this.client.list(events);
    return items.map(({ involvedObject, reason }) => `${involvedObject.kind} ${involvedObject.name} ${reason}`);
  }

  start(name: string, options: { state?: string; targets?: readonly Target[]; isAway?: boolean } = {}): PlayedAgent {
    const agent = new PlayedAgent(this, name, options);
    this.#agents.push(agent);
    return agent;
  }

  get #ledger(): ReservationLedger {
    return new ReservationLedger({ client: this.client, namespace: system, now: Date.now });
  }
}

function ownerOf(mac: string, vm: string) {
  return { kind: "nic", uid: `uid-${vm}`, namespace: "default", name: vm, nic: mac } as const;
}

export class PlayedAgent {
  readonly name: string;
  /** Every line of its log, as JSON. */
  readonly log: string[] = [];
  readonly ended: Promise<void>;
  port = 0;
  /** Its connection to the API server is cut. */
  isAway: boolean;
  /** Waited for before a request is sent. */
  before: (path: string) => Promise<void> | undefined = () => undefined;
  /** Paths of its requests, in order. */
  readonly asked: string[] = [];
  #wire: PlayedWire | undefined;
  readonly #stop = new AbortController();

  constructor(
    fixture: AgentFixture,
    name: string,
    options: { state?: string; targets?: readonly Target[]; isAway?: boolean },
  ) {
    this.name = name;
    this.isAway = options.isAway ?? false;
    const { state, targets = [{ kind: "network", key: network, interface: "eth1" }] } = options;
    const registry = new Registry();
    this.ended = runAgent(
      {
        client: new KubeClient({ transport: this.#transport(fixture.api.transport) }),
        clock: fixture.clock,
        log: makeLog({ write: (line) => this.log.push(line), now: Date.now }),
        systemNamespace: system,
        name,
        targets,
        openWire: async (given) => (this.#wire = fixture.ethernet.open(given)),
        ...(state !== undefined && { state: { folder: state } }),
        health: { host: "127.0.0.1", port: 0 },
        registry,
        kubeMetrics: new KubeMetrics(registry),
        onListen: (port) => (this.port = port),
      },
      this.#stop.signal,
    );
  }

  get wire(): PlayedWire {
    if (this.#wire === undefined) throw new Error(`${this.name} has no wire yet`);
    return this.#wire;
  }

  /** As kill -9: nothing of it reaches anybody any more. */
  kill(): void {
    this.isAway = true;
    this.wire.isCut = true;
  }

  /** As SIGTERM. */
  stop(): void {
    this.#stop.abort(new Error("told to stop"));
  }

  async end(): Promise<void> {
    this.stop();
    await this.ended.catch(() => {});
  }

  async page(path: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`);
    return { status: response.status, text: await response.text() };
  }

  /** Refused while it is cut off; a watch that is open ends then, as a connection that breaks. */
  #transport(transport: Transport): Transport {
    return async (request) => {
      if (this.isAway) throw new NotSentError("The API server is away.");
      this.asked.push(request.path);
      await this.before(request.path);
      const response = await transport(request);
      return { ...response, body: this.#cut(response.body) };
    };
  }

  async *#cut(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of body) {
      if (this.isAway) throw new Error("The connection broke.");
      yield chunk;
    }
  }
}
