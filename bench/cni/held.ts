// Addresses that are held before a measurement: objects as a daemon writes them, of pods that exist, on other nodes.
import { reservationOf } from "../../src/api/holds/reservation-hold.ts";
import { formatDomain } from "../../src/api/pools/domain.ts";
import { reservations, type StoredReservation } from "../../src/cluster/resources.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { type Address, next } from "../../src/net/address.ts";
import { parseCidr } from "../../src/net/prefix.ts";
import { attachmentOf, type BenchPod } from "./attachment.ts";
import { systemNamespace } from "./lab.ts";
import { eachAtOnce } from "./population.ts";
import { poolOf } from "./settle.ts";

/** The lowest addresses of the range, from the first that a pod may get. */
export function lowestOf(range: string, count: number): Address[] {
  const addresses: Address[] = [];
  let address = next(parseCidr(range).prefix.first);
  while (addresses.length < count && address !== undefined) {
    addresses.push(address);
    address = next(address);
  }
  return addresses;
}

export interface HeldPlan {
  readonly network: string;
  readonly range: string;
  /** Each holds one address, from the lowest on. */
  readonly pods: readonly BenchPod[];
}

export async function hold(client: KubeClient, { network, range, pods }: HeldPlan): Promise<void> {
  const pool = poolOf({ range, network });
  await eachAtOnce(lowestOf(range, pods.length), (address, index) =>
    client.create(reservations, objectOf(network, address, pods[index]!, pool)),
  );
}

/** What one ADD writes. */
export function objectOf(network: string, address: Address, pod: BenchPod, pool: string): StoredReservation {
  const { containerId, interface: name } = attachmentOf(pod);
  const { uid, namespace } = pod;
  const owner = { kind: "pod" as const, uid, namespace, name: pod.name, interface: name, containerId };
  const domain = formatDomain({ scope: "network", network });
  return reservationOf({ domain, address, owner, note: { pool } }, systemNamespace, pod.node) as StoredReservation;
}
