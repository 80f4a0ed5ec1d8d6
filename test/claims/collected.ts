// Waits until garbage collection knows kinds that have just been installed: a real controller-manager looks for new ones every 30 s, and
// until then leaves alone what is deleted in the foreground or with orphans.
import type { Resource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { until } from "../lab/wait.ts";
import { claims } from "./claim-objects.ts";
import { find, remove } from "./kubevirt/edit.ts";
import { domainSpec, ownedBy, vmis, vms } from "./kubevirt/objects.ts";

const at = { namespace: "default", name: "collected" };
/** Two rounds of 30 s, and as long again for a machine that is busy. */
const timeoutMs = 120_000;

/** Resolves when a VM was deleted with orphans, and its VMI and claim have lost their references. */
export async function untilCollected(client: KubeClient): Promise<void> {
  const template = { metadata: {}, spec: domainSpec([]) };
  const vm = await client.create(vms, { metadata: { ...at }, spec: { runStrategy: "Halted", template } });
  const ownerReferences = [ownedBy("VirtualMachine", vm)];
  await client.create(vmis, { metadata: { ...at, ownerReferences }, spec: domainSpec([]) });
  await client.create(claims, { metadata: { ...at, ownerReferences }, spec: { network: "none", interface: "" } });
  await remove(client, vms, at, { propagationPolicy: "Orphan" });
  for (const kind of [vmis, claims] as readonly Resource[]) {
    const isFree = async () => {
      const object = await find(client, kind, at);
      return (object?.metadata.ownerReferences ?? []).length === 0;
    };
    await until(isFree, { what: `garbage collection of ${kind.plural}`, timeoutMs });
    await remove(client, kind, at);
  }
}
