// What must be so when a random world has come to rest: while its VMs live, and when nobody does any more.
import { holds, reservations } from "../../src/cluster/resources.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import type { Resource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { until } from "../lab/wait.ts";
import { type Claim, claimOf } from "./checker-reading.ts";
import { claims } from "./claim-objects.ts";
import type { Machine } from "./kubevirt/machine.ts";

export interface RestOptions {
  readonly client: KubeClient;
  readonly timeoutMs: number;
}

/** Sentences, after a while: which running interfaces lack a claim whose status shows their addresses and pod. */
export function untold(machines: readonly Machine[], options: RestOptions): Promise<string[]> {
  return patiently("every claim to tell what its VM has", options, async () => {
    const { items } = await options.client.list(claims);
    const told = items.map((object) => ({ claim: claimOf(object), pod: podOf(object) }));
    return machines.flatMap((machine) => untoldOf(machine, told));
  });
}

interface Told {
  readonly claim: Claim;
  readonly pod: string;
}

function untoldOf({ instance, ownerUid, name }: Machine, told: readonly Told[]): string[] {
  if (instance?.active.phase !== "Running") return [];
  const { active } = instance;
  return [...active.attached].flatMap(([port, { addresses }]) => {
    const wanted = sorted(addresses.map((address) => address.split("/")[0] ?? ""));
    const isShown = told.some(
      ({ claim, pod }) => claim.ownerUid === ownerUid && sorted(claim.addresses) === wanted && pod === active.name,
    );
    return isShown ? [] : [`no claim of ${name} shows ${wanted} of ${port} in pod ${active.name}`];
  });
}

const sorted = (addresses: readonly string[]) => addresses.toSorted((a, b) => (a < b ? -1 : 1)).join(" ");

function podOf(claim: AnyObject): string {
  return (claim["status"] as { ownerPod?: { name?: string } } | undefined)?.ownerPod?.name ?? "";
}

/** Nobody is alive any more: in the end nothing is claimed, and nothing held. What is left after a while. */
export function leftOver(options: RestOptions): Promise<string[]> {
  return patiently("everything to be free", options, async () => {
    const { client } = options;
    const left = (await client.list(claims)).items.map(
      ({ metadata }) => `claim ${metadata.namespace}/${metadata.name}`,
    );
    for (const kind of [reservations, holds] as readonly Resource[]) {
      const { items } = await client.list(kind, { labelSelector: "!holdfast.io/cooling" });
      left.push(...items.map(({ metadata }) => `${kind.kind} ${metadata.namespace}/${metadata.name}`));
    }
    return left.map((each) => `left when nobody is alive: ${each}`);
  });
}

async function patiently(what: string, { timeoutMs }: RestOptions, look: () => Promise<string[]>): Promise<string[]> {
  try {
    await until(async () => (await look()).length === 0, { what, timeoutMs, everyMs: 100 });
    return [];
  } catch {
    return look();
  }
}
