// Holds of the journal whose pods are gone: a DEL that never came. Freed only when two looks, half a minute apart, miss
// the pod among this node's pods, and the API server, asked for the pod itself, says that it is gone or has ended.
// Never freed: holds of pods that the API server need not know (podman, no namespace, a static pod without a mirror),
// holds with a keeper, holds that no pod owns.
import { isOffServer, isPodOf, mayLackMirror, mirrorAnnotation } from "../../api/holds/pod-uid.ts";
import { hasEnded, type Pod, pods } from "../../cluster/resources.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { describeOwner, ownerKey, type PodOwner } from "../../ipam/owner.ts";
import { sleep } from "../../kube/clock.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import type { Journal } from "../../ledger/journal/journal.ts";
import type { SliceAgentOptions } from "./agent.ts";

export interface OrphansOptions extends Pick<
  SliceAgentOptions,
  "client" | "node" | "pods" | "cooldownMs" | "onOrphan" | "clock" | "log"
> {
  readonly journal: Pick<Journal, "holds" | "get" | "release">;
  /** The API server answers now. */
  readonly isHeard: () => boolean;
}

const lookEveryMs = 30_000;
/** Pods asked for in one look: a node has 250 pods, and one that lost all of them has half an hour's work at most. */
const askedMax = 50;
const callMs = 10_000;

export class Orphans {
  readonly #options: OrphansOptions;
  /** Address of a suspect -> the version of its hold, by the look before. */
  #suspects = new Map<string, string>();

  constructor(options: OrphansOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (await sleep(clock, lookEveryMs, signal)) {
      try {
        await this.look(signal);
      } catch (error) {
        if (!signal.aborted) log.debug("looking for addresses of pods that are gone", { error });
      }
    }
  }

  async look(signal: AbortSignal): Promise<void> {
    const { journal, pods: own, node, isHeard } = this.#options;
    if (!own.hasSynced || !isHeard()) return void (this.#suspects = new Map());
    const podOf = ({ owner }: Hold) => own.cache.get(`${owner.namespace}/${owner.name}`);
    const missing = Array.from(journal.holds()).filter(
      (hold) => isJudged(hold) && isOver(hold.owner as PodOwner, podOf(hold), node),
    );
    const again = missing.filter((hold) => this.#suspects.get(placeOf(hold)) === hold.version).slice(0, askedMax);
    this.#suspects = new Map(missing.map((hold) => [placeOf(hold), hold.version]));
    for (const hold of again) await this.#judge(hold, signal);
  }

  async #judge(hold: Hold, signal: AbortSignal): Promise<void> {
    const { client, node, journal, cooldownMs, log, onOrphan } = this.#options;
    const owner = hold.owner as PodOwner;
    const { namespace, name } = owner;
    const pod = await client.lookUp(pods, { namespace, name }, { signal, timeoutMs: callMs });
    if (!isOver(owner, pod, node)) return;
    const { domain, address, version } = hold;
    const freed = await journal.release({ domain, address, owner: ownerKey(owner), version, cooldownMs });
    if (freed.outcome !== "released") return;
    onOrphan?.(hold);
    const whose = { address: String(address), domain, pod: describeOwner(owner) };
    log.info("an address of a pod that is gone was freed", whose);
  }
}

/** Whether the API server can tell anything about the owner. */
export function isJudged({ owner, note }: Pick<Hold, "owner" | "note">): boolean {
  return owner.kind === "pod" && note?.keeper === undefined && !isOffServer(owner);
}

/** The pod of that name, if any, is not the owner, or needs no address any more. */
export function isOver(owner: PodOwner, pod: DeepReadonly<Pod> | undefined, node: string): boolean {
  if (mayLackMirror({ mirrorOf: pod?.metadata.annotations?.[mirrorAnnotation] }, owner)) return false;
  if (pod === undefined || !isPodOf(pod.metadata, owner.uid)) return true;
  if (hasEnded(pod)) return true;
  // Without a UID the name must do: a namesake on another node is another pod; one without a node may be this one.
  const place = pod.spec?.nodeName ?? "";
  return owner.uid === "" && place !== "" && place !== node;
}

function placeOf({ domain, address }: Hold): string {
  return `${domain} ${address}`;
}
