// The objects of one family, read from the server before a final step (docs/decisions/0014). Promised: the order VM,
// VMI, claims, pods, nodes: no VMI is made after its VM is gone, and a later pod reads its claim's end. A missing
// answer throws. Not promised: holds. They are from the caches, and a change of one names the version that was judged.
import { claimInstanceAnnotation, claimName } from "../../api/claims/claim-marks.ts";
import { createdByLabelName, launcherLabelName, launcherValue, type VmiSpec } from "../../api/claims/kubevirt.ts";
import { launchedBy } from "../../api/claims/launcher-pod.ts";
import type { Standing } from "../../cluster/fencing.ts";
import { askStanding } from "../../cluster/node-presence.ts";
import * as kinds from "../../cluster/resources.ts";
import { type KubeObject, type ObjectName, parseKey } from "../../kube/meta.ts";
import type { Resource } from "../../kube/resource.ts";
import { type Instance, type Machine, trimInstance, trimMachine } from "./caches.ts";
import type { FamilyObjects } from "./facts-reader.ts";
import type { ClaimsOptions } from "./leader.ts";

/** UIDs in one label selector: 50 of 37 characters are 2 KB of a path. For more, all launcher pods are listed. */
const selectorMax = 50;

export interface FreshOptions extends Pick<ClaimsOptions, "client" | "presence" | "systemNamespace"> {
  /** Claims that have gone, by UID -> the VMI that they were for. */
  readonly instances: { get(claim: string): string | undefined };
  readonly signal: AbortSignal;
}

export async function freshObjects(
  options: FreshOptions,
  family: string,
  cached: FamilyObjects,
): Promise<FamilyObjects> {
  const { client, instances, signal } = options;
  const { namespace = "", name } = parseKey(family);
  const read = <T extends KubeObject>(resource: Resource<T>, at: ObjectName) => client.lookUp(resource, at, { signal });
  const machine = await read<Machine>(kinds.virtualMachines, { namespace, name });
  const vm = machine && trimMachine(machine);
  const instance = await read<Instance>(kinds.virtualMachineInstances, { namespace, name });
  const vmi = instance && trimInstance(instance);
  const claims: kinds.StoredClaim[] = [];
  for (const each of claimNames(name, cached, [vm?.spec?.template?.spec, vmi?.spec])) {
    const claim = await read(kinds.ipamClaims, { namespace, name: each });
    if (claim !== undefined) claims.push(claim);
  }
  const known = { ...cached, vmi, claims: [...claims, ...cached.claims] };
  const former = cached.held.map(({ hold }) => instances.get(hold.owner.uid));
  const pods = await freshPods(options, { namespace, name }, known, instanceUids(known, former));
  const nodes = await freshNodes(options, cached, [...pods.values()]);
  const uids = new Set([vm?.metadata.uid, vmi?.metadata.uid]);
  const were = new Set([cached.vm?.metadata.uid, cached.vmi?.metadata.uid]);
  return {
    vm,
    vmi,
    claims,
    pods: [...pods.values()].filter((pod) => isOfFamily(pod, name, cached)),
    held: cached.held,
    // Those of other names are not read again: a claim's home is its owner's name.
    lives: (uid) => uids.has(uid) || (!were.has(uid) && cached.lives(uid)),
    podNamed: (each) => pods.get(each),
    node: (each) => nodes.get(each) ?? "unreachable",
  };
}

/** Names of known claims, of the holds' claims, and of the claims that the VM's networks would have. */
function claimNames(name: string, cached: FamilyObjects, specs: readonly (VmiSpec | undefined)[]): ReadonlySet<string> {
  return new Set([
    ...cached.claims.map(({ metadata }) => metadata.name ?? ""),
    ...cached.held.map(({ hold }) => hold.owner.name),
    ...specs.flatMap((spec) =>
      (spec?.networks ?? []).filter(({ multus }) => multus !== undefined).map((each) => claimName(name, each.name)),
    ),
  ]);
}

/** By name: launchers of every VMI that is known, and each pod that uses a hold or refers to a claim. */
async function freshPods(
  { client, signal }: FreshOptions,
  { namespace = "", name }: ObjectName,
  known: FamilyObjects,
  uids: readonly string[],
): Promise<ReadonlyMap<string, kinds.Pod>> {
  const of = uids.length > 0 && uids.length <= selectorMax ? `,${createdByLabelName} in (${uids.join(",")})` : "";
  const labelSelector = `${launcherLabelName}=${launcherValue}${of}`;
  const { items } = await client.list(kinds.pods, { namespace, labelSelector, signal });
  const found = new Map(
    items.filter(({ metadata }) => launchedBy(metadata)?.name === name).map((pod) => [pod.metadata.name ?? "", pod]),
  );
  const users = known.held.flatMap(({ hold }) => hold.users ?? []).map((user) => user.name);
  const others = [...users, ...known.pods.map(({ metadata }) => metadata.name ?? "")];
  for (const each of new Set(others)) {
    if (each === "" || found.has(each)) continue;
    const pod = await client.lookUp(kinds.pods, { namespace, name: each }, { signal });
    if (pod !== undefined) found.set(each, pod);
  }
  return found;
}

function instanceUids(
  { vmi, claims, pods }: FamilyObjects,
  former: readonly (string | undefined)[],
): readonly string[] {
  const all = [
    ...former,
    vmi?.metadata.uid,
    ...claims.map(({ metadata }) => metadata.annotations?.[claimInstanceAnnotation]),
    ...pods.map(({ metadata }) => launchedBy(metadata)?.uid),
  ];
  return [...new Set(all.filter((uid) => uid !== undefined && uid !== ""))] as string[];
}

async function freshNodes(
  options: FreshOptions,
  { held }: FamilyObjects,
  pods: readonly kinds.Pod[],
): Promise<ReadonlyMap<string, Standing>> {
  const users = held.flatMap(({ hold }) => hold.users ?? []).map(({ node }) => node);
  const found = new Map<string, Standing>();
  for (const name of new Set([...users, ...pods.map(({ spec }) => spec?.nodeName ?? "")])) {
    if (name !== "") found.set(name, await askStanding(options, options.presence.judge, name));
  }
  return found;
}

/** A pod that was read only because it uses a hold counts as a user, not as a launcher of the family. */
function isOfFamily(pod: kinds.Pod, name: string, { pods }: FamilyObjects): boolean {
  const launched = launchedBy(pod.metadata);
  if (launched !== undefined) return launched.name === name;
  return pods.some(({ metadata }) => metadata.name === pod.metadata.name);
}
