// What nobody asks for: interfaces that a DEL could not take away, or that no DEL came for, and addresses of VMs that
// are over. Promised: nothing is taken away of a pod that lives, by two looks half a minute apart.
import { type Pod, pods } from "../../cluster/resources.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { describeOwner, ownerKey } from "../../ipam/owner.ts";
import type { Cache } from "../../kube/cache/store.ts";
import { sleep } from "../../kube/clock.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Journal } from "../../ledger/journal/journal.ts";
import type { CniRequest, DaemonOptions } from "../context.ts";
import { attachmentOf } from "../holds/hold-index.ts";
import { type AttachmentKey, attachmentKey } from "../request/attachment.ts";
import type { AttachmentFile, OvnRecord } from "./attachment-file.ts";
import { addressesInUse, isKeptByVm, launcherSelector } from "./moving-vm.ts";

export interface UpkeepOptions extends Pick<DaemonOptions, "clock" | "cooldownMs" | "log"> {
  readonly client: Pick<KubeClient, "listAll">;
  readonly file: Pick<AttachmentFile, "all" | "get">;
  /** Of this node's pods. */
  readonly pods: { readonly cache: Pick<Cache<Pod>, "get">; readonly hasSynced: boolean };
  readonly journal: Pick<Journal, "holds" | "release">;
  /** An address of the journal was freed, and rests. */
  readonly onFreed: (hold: Hold) => void;
  /** Undefined: there is none at that path. */
  readonly identify: (netns: string) => Promise<string | undefined>;
  /** The whole of a DEL whose runtime has its answer. */
  readonly release: (request: CniRequest) => Promise<void>;
}

const goingEveryMs = 5000;
const lookEveryMs = 30_000;
/** In one look: a node has 250 pods. */
const lostMax = 250;

export class OvnUpkeep {
  readonly #options: UpkeepOptions;
  /** By the look before. */
  #lost: ReadonlySet<AttachmentKey> = new Set();
  /** Domain and address -> the version of its hold, by the look before. */
  #over: ReadonlyMap<string, string> = new Map();

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#every(goingEveryMs, "taking away what is left in OVN", () => this.#finish(signal), signal),
      this.#every(lookEveryMs, "looking for interfaces whose pods are gone", () => this.look(signal), signal),
    ]);
  }

  /** Interfaces whose DEL never came, and addresses of VMs that are over. */
  async look(signal: AbortSignal): Promise<void> {
    const { pods: own } = this.#options;
    if (!own.hasSynced) return;
    await this.#releaseLost(signal);
    await this.#releaseOver(signal);
  }

  async #finish(signal: AbortSignal): Promise<void> {
    const going = this.#options.file.all().filter(({ isGoing }) => isGoing === true);
    for (const record of going) await this.#options.release(requestOf(record, signal));
  }

  async #releaseLost(signal: AbortSignal): Promise<void> {
    const { file, pods: own, identify, log } = this.#options;
    const lost: OvnRecord[] = [];
    for (const record of file.all()) {
      const { namespace, name, uid } = record.pod;
      const pod = own.cache.get(`${namespace}/${name}`);
      if (record.isGoing === true || pod?.metadata.uid === uid) continue;
      const there = await identify(record.netns).catch(() => "unknown");
      if (there === undefined) lost.push(record);
    }
    const again = lost.filter((each) => this.#lost.has(attachmentKey(each))).slice(0, lostMax);
    this.#lost = new Set(lost.map(attachmentKey));
    for (const record of again) {
      log.info("the pod of an interface is gone, and its namespace too: it is taken away", {
        ...record.pod,
        port: record.port,
      });
      await this.#options.release(requestOf(record, signal));
    }
  }

  /** Holds that no sandbox uses any more, of VMs of which no living pod has the address. */
  async #releaseOver(signal: AbortSignal): Promise<void> {
    const { journal, client, cooldownMs, onFreed, log } = this.#options;
    const parked = Array.from(journal.holds()).filter((hold) => isKeptByVm(hold.note?.keeper) && !this.#isUsed(hold));
    const over = new Map<string, string>();
    for (const [namespace, holds] of Map.groupBy(parked, ({ owner }) => owner.namespace)) {
      const living = await client.listAll(pods, { namespace, labelSelector: launcherSelector, signal });
      const used = addressesInUse(living);
      for (const hold of holds) {
        const { domain, address, owner, version } = hold;
        if (used.has(`${address}`)) continue;
        over.set(`${domain} ${address}`, version);
        if (this.#over.get(`${domain} ${address}`) !== version) continue;
        const freed = await journal.release({ domain, address, owner: ownerKey(owner), version, cooldownMs });
        if (freed.outcome !== "released") continue;
        onFreed(hold);
        log.info("the address of a VM that is over was freed", { address: `${address}`, pod: describeOwner(owner) });
      }
    }
    this.#over = over;
  }

  /** Its sandbox lives, or its pod does: a hold of an ADD that was cut short has neither a record nor a DEL. */
  #isUsed(hold: Hold): boolean {
    const { file, pods: own } = this.#options;
    const attachment = attachmentOf(hold);
    if (attachment === undefined) return false;
    const { owner } = hold;
    const pod = own.cache.get(`${owner.namespace}/${owner.name}`);
    return file.get(attachment) !== undefined || (owner.kind === "pod" && pod?.metadata.uid === owner.uid);
  }

  async #every(pauseMs: number, what: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (await sleep(clock, pauseMs, signal)) {
      try {
        await work();
      } catch (error) {
        if (!signal.aborted) log.debug(what, { error });
      }
    }
  }
}

/** A DEL, as the runtime would ask for it. */
export function requestOf(
  { containerId, interfaceName, netns, pod, config: text }: OvnRecord,
  signal: AbortSignal,
): CniRequest {
  const { namespace: podNamespace, name: podName, uid: podUid } = pod;
  const args = { podName, podNamespace, podUid, ips: [], gateways: [], warnings: [] };
  return { invocation: { command: "DEL", containerId, interfaceName, netns, args }, text, signal };
}
