// The reservations that stand in the API server, and the verdict on a load against them.
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { Attachment } from "./attachment.ts";
import { type BenchLab, systemNamespace } from "./lab.ts";
import type { Reply } from "./reply.ts";
import { type Given, judgeGiven, type Reserved, type Verdict } from "./verdict.ts";

interface Reservation extends KubeObject {
  readonly spec: { readonly podref: string; readonly ifname?: string };
}

const reservations = defineResource<Reservation>({
  group: "whereabouts.cni.cncf.io",
  version: "v1alpha1",
  plural: "overlappingrangeipreservations",
  kind: "OverlappingRangeIPReservation",
  namespaced: true,
});

/** What is held in the network, not what rests. */
async function reservedIn(lab: BenchLab, network: string): Promise<Reserved[]> {
  const { items } = await lab.admin.list(reservations, {
    namespace: systemNamespace,
    labelSelector: "!holdfast.io/cooling",
  });
  return items
    .map(({ metadata, spec }) => ({
      name: metadata.name ?? "",
      podref: spec.podref,
      interface: spec.ifname ?? "",
    }))
    .filter(({ name }) => (network === "" ? /^[\d.]+$/.test(name) : name.startsWith(`${network}-`)));
}

/** What was answered in one network. */
export function givenIn(
  network: string,
  attachments: readonly Attachment[],
  replies: readonly (Reply | undefined)[],
): Given[] {
  return attachments.flatMap(({ pod, interface: name }, index) =>
    (replies[index]?.addresses ?? []).map((address) => ({
      network,
      pod: `${pod.namespace}/${pod.name}`,
      interface: name,
      address,
    })),
  );
}

export async function verify(lab: BenchLab, network: string, given: readonly Given[]): Promise<Verdict> {
  return judgeGiven(given, await reservedIn(lab, network));
}

/** A benchmark of something wrong is worth nothing: it ends here. */
export function assertClean(what: string, { duplicates, unrecorded, leaked }: Verdict): void {
  const problems = [...duplicates, ...unrecorded, ...leaked];
  if (problems.length > 0) {
    throw new Error(`${what}: ${problems.length} addresses are wrong: ${problems.slice(0, 5).join("; ")}`);
  }
}
