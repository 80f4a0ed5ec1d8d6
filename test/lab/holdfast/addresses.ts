// Who has which address, from three independent sides: what pods were told (network-status), what the API server has on
// record (reservations and holds), and what the kernels of the nodes have in the pods' network namespaces.
import { readReservationName } from "../../../src/api/holds/reservation-name.ts";
import type { Cluster } from "../cluster.ts";
import type { NetworkStatus } from "../networks/status.ts";
import { statusAnnotation } from "../networks/status.ts";
import type { LabNode } from "../node.ts";
import type { ObservedPod } from "../pods.ts";
import { until } from "../wait.ts";

/** One address in one pod. */
export interface Holder {
  /** `namespace/name` of the attachment definition. */
  readonly network: string;
  readonly address: string;
  /** `namespace/name` of the pod, with its interface. */
  readonly who: string;
}

interface PodList {
  readonly items: readonly (ObservedPod & { readonly metadata: { readonly namespace: string } })[];
}

export function statusesOf({ metadata }: ObservedPod): NetworkStatus[] {
  return JSON.parse(metadata.annotations?.[statusAnnotation] ?? "[]") as NetworkStatus[];
}

/** Secondary addresses of all pods that have not ended. */
export async function toldAddresses(lab: Cluster): Promise<Holder[]> {
  const { items } = await lab.rest.get<PodList>("/api/v1/pods");
  return items
    .filter(({ status }) => status.phase === "Running" || status.phase === "Pending")
    .flatMap((pod) =>
      statusesOf(pod)
        .filter((status) => status.default !== true)
        .flatMap(({ name, ips = [], interface: port }) =>
          ips.map((address) => ({
            network: name,
            address,
            who: `${pod.metadata.namespace}/${pod.metadata.name} ${port}`,
          })),
        ),
    );
}

interface ReservationObject {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: { readonly podref: string; readonly ifname?: string };
}

export interface RecordedHolder extends Holder {
  /** Of the object. */
  readonly namespace: string;
}

/** What the API server has on record as held; what rests is left out. `network` is the network_name. */
export async function recordedAddresses(lab: Cluster): Promise<RecordedHolder[]> {
  const path = "/apis/whereabouts.cni.cncf.io/v1alpha1/overlappingrangeipreservations";
  const held = encodeURIComponent("!holdfast.io/cooling");
  const { items } = await lab.rest.get<{ items: ReservationObject[] }>(`${path}?labelSelector=${held}`);
  return items.map(({ metadata, spec }) => {
    const [reading] = readReservationName(metadata.name);
    if (reading === undefined) throw new Error(`the reservation ${metadata.name} names no address`);
    return {
      namespace: metadata.namespace,
      network: reading.network,
      address: reading.address.toString(),
      who: `${spec.podref} ${spec.ifname ?? ""}`,
    };
  });
}

/** Waits until `count` are on record, exactly those that pods were told: no leak, nothing given without a record. */
export async function settled(lab: Cluster, count: number, timeoutMs = 90_000): Promise<Holder[]> {
  const lines = (holders: readonly Holder[]) => holders.map(({ who, address }) => `${who} ${address}`).sort();
  return until(
    async () => {
      const [told, recorded] = await Promise.all([toldAddresses(lab), recordedAddresses(lab)]);
      const [a, b] = [new Set(lines(told)), new Set(lines(recorded))];
      const difference = JSON.stringify({ onlyTold: [...a.difference(b)], onlyRecorded: [...b.difference(a)] });
      if (a.symmetricDifference(b).size === 0 && told.length === count) return told;
      throw new Error(`${told.length} are told: ${difference}`);
    },
    { what: `records and pods to agree on ${count} addresses`, everyMs: 500, timeoutMs },
  );
}

/**
 * The addresses in every named network namespace of the node: the kernel's own word, also of sandboxes that are being
 * removed. Key: interface, as in net1; every test gives one interface name to one network.
 */
export async function kernelAddresses(node: LabNode): Promise<Holder[]> {
  const holders: Holder[] = [];
  let sandbox = "";
  for (const line of (await node.sandboxAddresses()).split("\n")) {
    const [first = "", second = ""] = line.split(" ");
    if (first === "@") sandbox = second;
    else if (second !== "" && first !== "eth0") {
      holders.push({ network: first, address: second, who: `${node.name} ${sandbox} ${first}` });
    }
  }
  return holders;
}

/** Sentences about addresses that two have; none when all is well. */
export function duplicates(holders: readonly Holder[]): string[] {
  const first = new Map<string, Holder>();
  const found: string[] = [];
  for (const holder of holders) {
    const key = `${holder.network} ${holder.address}`;
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, holder);
    else found.push(`${holder.address} of ${holder.network}: ${earlier.who} and ${holder.who}`);
  }
  return found;
}
