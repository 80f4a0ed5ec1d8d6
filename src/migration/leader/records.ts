// Receipts: each migration that is over goes on record once, as an annotation of its target's pod, an event of the VMI,
// figures, and in this process's list. Not promised: an annotation where the API server refuses it; the event tells.
import { Recent } from "../../kube/cache/recent.ts";
import { isApiError } from "../../kube/errors.ts";
import type { ObjectKey } from "../../kube/meta.ts";
import { type Launcher, receiptAnnotation } from "../objects/launcher.ts";
import { eventOf, receiptText } from "../receipts/receipt-text.ts";
import { type Receipt, record, type Sight } from "../receipts/receipt.ts";
import { annotateOurs } from "./annotate.ts";
import type { MigrationCaches } from "./caches.ts";
import type { MigrationOptions } from "./options.ts";

/** Targets that were recorded and whose pod may not show it yet: about 100 bytes each. */
const remembered = 10_000;
/** Receipts in memory, newest last: 1 KB each. */
const keptReceipts = 1000;

export class Records {
  readonly #options: MigrationOptions;
  readonly #caches: MigrationCaches;
  readonly #open = new Map<ObjectKey, Receipt>();
  readonly #recorded = new Recent<true>(remembered);
  readonly #ended: Receipt[] = [];

  constructor(options: MigrationOptions, caches: MigrationCaches) {
    this.#options = options;
    this.#caches = caches;
  }

  /** Those that go on, then those that are over, newest last. */
  list(): readonly Receipt[] {
    return [...this.#open.values(), ...this.#ended];
  }

  async saw(key: ObjectKey, sight: Sight, pods: readonly Launcher[], signal: AbortSignal): Promise<void> {
    const isRecorded = ({ uid, isRecorded: isMarked }: Launcher) => isMarked || this.#recorded.get(uid) === true;
    const { open, ended } = record(this.#open.get(key), sight, isRecorded);
    if (open === undefined) this.#open.delete(key);
    else this.#open.set(key, open);
    this.#options.metrics?.open(this.#open.size);
    for (const each of ended) await this.#end(each, pods, signal);
  }

  async #end(receipt: Receipt, pods: readonly Launcher[], signal: AbortSignal): Promise<void> {
    const { client, log, events, metrics, gapMsOf, onReceipt } = this.#options;
    const { uid } = receipt.target;
    const gapMs = gapMsOf?.(uid);
    const whole: Receipt = { ...receipt, ...(gapMs !== undefined && { gapMs }) };
    this.#recorded.set(uid, true);
    this.#ended.push(whole);
    if (this.#ended.length > keptReceipts) this.#ended.shift();
    metrics?.ended(whole);
    onReceipt?.(whole);
    const { namespace, vm: name, instance } = whole;
    const network = pods.find((each) => each.network !== undefined)?.network;
    const { type, reason, words } = eventOf(whole, network?.addresses.map(({ address }) => `${address}`) ?? []);
    const about = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance" };
    events?.record({ ...about, metadata: { namespace, name, uid: instance } }, type, reason, words);
    log.info("a migration is over", { vm: `${namespace}/${name}`, end: whole.end, words });
    const target = pods.find((each) => each.uid === uid);
    const pod = target && this.#caches.podOf(target);
    if (pod === undefined) return;
    try {
      await annotateOurs(client, pod, { [receiptAnnotation]: receiptText(whole) }, signal);
    } catch (error) {
      if (!isApiError(error, "not-found", "conflict", "invalid"))
        log.warn("a receipt could not be written to its pod", { uid, error });
    }
  }
}
