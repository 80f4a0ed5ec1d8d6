// Waits until nothing that is to be moved changes any more, by reading all of it twice.
import { holds, ipPools, reservations } from "../../cluster/resources.ts";
import { sleep } from "../../kube/clock.ts";
import { keyOf, type KubeObject } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { TransferError } from "../error.ts";
import { everything } from "../plan/read-survey.ts";
import type { FenceOptions } from "./fence-pause.ts";

/** Writers that were asked to rest end what they began; whoever goes on for this many rounds was not reached. */
const roundsMax = 6;
const listedMax = 5;

export async function settle({ client, clock, signal }: FenceOptions, quietMs: number): Promise<void> {
  let before = await versions(client, signal);
  let last: string[] = [];
  for (let round = 0; round < roundsMax; round++) {
    if (!(await sleep(clock, quietMs, signal))) signal.throwIfAborted();
    const now = await versions(client, signal);
    last = differences(before, now);
    if (last.length === 0) return;
    before = now;
  }
  const more = last.length > listedMax ? ` and ${last.length - listedMax} more` : "";
  const words = `${last.slice(0, listedMax).join(", ")}${more} still change: something writes them that heeds neither pause nor lease. Stop it (its DaemonSet and its reconciler), and try again.`;
  throw new TransferError("not-quiet", words);
}

/** Key: kind and namespace/name. Value: its version. */
type Versions = ReadonlyMap<string, string>;

async function versions(client: KubeClient, signal: AbortSignal): Promise<Versions> {
  const all = [
    ...(await everything(client, ipPools, signal)),
    ...(await everything(client, reservations, signal)),
    ...(await everything(client, holds, signal)),
  ];
  const versionOf = ({ metadata }: KubeObject) => `${metadata.uid}@${metadata.resourceVersion}`;
  return new Map(all.map((object) => [`${object.kind} ${keyOf(object)}`, versionOf(object)]));
}

function differences(a: Versions, b: Versions): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key));
}
