// The objects behind the addresses, as a person reads them with kubectl: pools with their entries, and reservations.
import type { Cluster } from "../cluster.ts";
import { until } from "../wait.ts";
import { recordedAddresses, type RecordedHolder } from "./addresses.ts";

const group = "whereabouts.cni.cncf.io/v1alpha1";

interface PoolObject {
  readonly spec: {
    readonly range: string;
    readonly allocations: Readonly<Record<string, { readonly podref: string }>>;
  };
}

export class Books {
  readonly #lab: Cluster;

  constructor(lab: Cluster) {
    this.#lab = lab;
  }

  pool(name: string, namespace = "kube-system"): Promise<PoolObject> {
    return this.#lab.rest.get(`/apis/${group}/namespaces/${namespace}/ippools/${name}`);
  }

  /** Waits until the pool's entries, which the leader writes behind the records, are of these pods. */
  async entriesOf(name: string, podrefs: readonly string[]): Promise<void> {
    const wanted = podrefs.toSorted().join();
    await until(
      async () => {
        const { spec } = await this.pool(name);
        const found = Object.values(spec.allocations).map(({ podref }) => podref);
        if (found.sort().join() === wanted) return true;
        throw new Error(`the pool ${name} lists ${found.join(", ")}`);
      },
      { what: `the pool ${name} to list ${wanted || "nobody"}`, everyMs: 200 },
    );
  }

  /** Who holds the address in the network of that name; what rests is nobody's. */
  async recordOf(address: string, network = ""): Promise<RecordedHolder | undefined> {
    const all = await recordedAddresses(this.#lab);
    return all.find((each) => each.address === address && each.network === network);
  }

  async unrecorded(address: string): Promise<void> {
    const what = `${address} to be free`;
    await until(async () => (await this.recordOf(address)) === undefined, { what, everyMs: 200 });
  }

  /** As whereabouts writes them: a pool with entries by offset (key), and a reservation for each. */
  async writeAsWhereabouts(
    range: string,
    entries: Readonly<Record<number, string>>,
    addressBefore: string,
  ): Promise<void> {
    const create = (plural: string, kind: string, name: string, spec: object) =>
      this.#lab.rest.create(`/apis/${group}/namespaces/kube-system/${plural}`, {
        apiVersion: group,
        kind,
        metadata: { name, namespace: "kube-system" },
        spec,
      });
    const allocations = Object.fromEntries(
      Object.entries(entries).map(([offset, podref]) => [offset, { id: `old${offset}`, podref, ifname: "net1" }]),
    );
    await create("ippools", "IPPool", range.replace("/", "-"), { range, allocations });
    for (const [offset, podref] of Object.entries(entries)) {
      const name = `${addressBefore}${offset}`;
      const spec = { podref, ifname: "net1" };
      await create("overlappingrangeipreservations", "OverlappingRangeIPReservation", name, spec);
    }
  }
}
