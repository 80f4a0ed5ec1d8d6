// Bindings as a controller leaves them: network configs with finalizer and status, and one hold for each NIC.
import { networkConfigFinalizer } from "../../src/api/vmnet/marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { statusOfConfig } from "../../src/vmnet/plan/config-status.ts";
import { eachAtOnce } from "../cni/population.ts";
import { type Binding, binding, network, poolKey, systemNamespace } from "./plan.ts";

export interface SeedPlan {
  readonly bindings: number;
  /** NICs of one network config. */
  readonly nics: number;
}

const namespace = "default";

export async function seed(client: KubeClient, { bindings, nics }: SeedPlan): Promise<void> {
  const ledger = new ReservationLedger({ client, namespace: systemNamespace, now: Date.now });
  const configs = Array.from({ length: Math.ceil(bindings / nics) }, (_, index) => index);
  await eachAtOnce(configs, async (index) => {
    const count = Math.min(nics, bindings - index * nics);
    const own = Array.from({ length: count }, (_, nic) => binding(index * nics + nic));
    const { name, uid } = await makeConfig(client, `vm-${String(index).padStart(6, "0")}`, own);
    for (const { address, mac } of own) {
      const owner = { kind: "nic", uid, namespace, name, nic: mac } as const;
      const note = { pool: poolKey, mac, why: "any free address of the pool, by chance" };
      const { outcome } = await ledger.take({ domain: network.domain, address, owner, note });
      if (outcome !== "taken") throw new Error(`${address} of ${mac} was not free: ${outcome}`);
    }
  });
}

async function makeConfig(client: KubeClient, name: string, bindings: readonly Binding[]) {
  const macs = bindings.map(({ mac }) => ({ networkName: network.key, macAddress: mac }));
  const made = await client.create(kinds.networkConfigs, {
    metadata: { namespace, name, finalizers: [networkConfigFinalizer] },
    spec: { vmName: name, networkConfigs: macs },
  });
  const nics = bindings.map(({ address, mac }) => ({
    networkName: network.key,
    macAddress: mac,
    state: "Allocated" as const,
    address: address.toString(),
  }));
  const plan = { nics, passes: [], takes: [], releases: [], isWaiting: false };
  const status = statusOfConfig(made, plan, Date.now());
  await client.update(kinds.networkConfigs, { ...made, status }, { subresource: "status" });
  return { name, uid: made.metadata.uid ?? "" };
}
