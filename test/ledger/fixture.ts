// What tests of src/ledger share: a server, a client, a namespace per test, and objects as whereabouts writes them.
import { holds, ipPools, namespaces, reservations, type StoredPool } from "../../src/cluster/resources.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import type { HeldObject } from "../../src/ledger/reservation/list-holds.ts";

export interface LedgerFixture {
  readonly transport: () => Transport;
}

/** As whereabouts writes it. */
export type Entry = { id: string; podref: string; ifname?: string; uid?: string };

let spaces = 0;

/** One test's corner of the server. */
export class Corner {
  readonly client: KubeClient;
  readonly namespace: string;

  private constructor(transport: Transport, namespace: string) {
    this.client = new KubeClient({ transport });
    this.namespace = namespace;
  }

  static async of({ transport }: LedgerFixture): Promise<Corner> {
    const corner = new Corner(transport(), `corner-${process.pid}-${spaces++}`);
    await corner.client.create(namespaces, { metadata: { name: corner.namespace } });
    return corner;
  }

  pool(name: string, range: string, allocations: Record<string, Entry> = {}): Promise<StoredPool> {
    const { namespace } = this;
    return this.client.create(ipPools, { metadata: { namespace, name }, spec: { range, allocations } });
  }

  async entries(name: string): Promise<Record<string, Entry>> {
    const { spec } = await this.client.get(ipPools, { namespace: this.namespace, name });
    return spec.allocations as Record<string, Entry>;
  }

  /** As whereabouts writes it. */
  reservation(name: string, podref: string, ifname = "net1") {
    const { namespace } = this;
    return this.client.create(reservations, { metadata: { namespace, name }, spec: { podref, ifname } });
  }

  async objects(): Promise<HeldObject[]> {
    const { namespace } = this;
    const reserved = await this.client.list(reservations, { namespace });
    const held = await this.client.list(holds, { namespace });
    return [...reserved.items, ...held.items];
  }

  async names(): Promise<string[]> {
    return (await this.objects()).map(({ metadata }) => metadata.name ?? "").sort();
  }
}
