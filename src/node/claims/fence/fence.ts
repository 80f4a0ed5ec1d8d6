// Keeps an old guest off the network: a VM started elsewhere during an outage has its address and MAC there, and the
// launcher here keeps both until the kubelet hears. If the pod of a remembered sandbox with a claim's address is gone
// or over at the API server, and another living pod uses the address, its interface goes down; the kubelet ends it.
// Looks come from the start and every few seconds: no start or outage has to be noticed. A pod alive in the informer is
// free. Not promised: anything while the API server is away, or for a device that left the namespace (SR-IOV by vfio).
import { deadline, sleep } from "../../../kube/clock.ts";
import type { DaemonOptions, Tell } from "../../context.ts";
import type { KnownSandbox, ObjectName, Sandboxes } from "../../holds/sandboxes.ts";
import type { ShutOrder } from "../../kernel/shut-thread.ts";
import { type AttachmentKey, attachmentKey } from "../../request/attachment.ts";
import { type FenceFacts, judgeSandbox, linksOf, othersAt } from "./fence-facts.ts";

export interface FenceOptions extends Pick<DaemonOptions, "clock" | "log"> {
  readonly sandboxes: Sandboxes;
  readonly facts: FenceFacts;
  /** Whether the informer has this pod, by UID, and the pod has not ended. */
  readonly isAlive: (pod: ObjectName) => boolean;
  /** Takes interfaces of a namespace down; answers those that were up. Missing ones are passed over. */
  readonly shut: (order: ShutOrder, signal: AbortSignal) => Promise<readonly string[]>;
  readonly tell: Tell;
  /** Counted: an interface was taken down. */
  readonly onFence: () => void;
}

const tickMs = 2000;
/** How long until the next look at the same sandbox, where nothing or all was done. */
const againMs = { wait: 6000, fence: 60_000, keep: 0, forget: 0 } as const;
/** A pod, two holds, four users: seven requests of milliseconds. */
const lookMs = 10_000;

interface Memory {
  nextMs: number;
  wasOver: boolean;
}

export class Fence {
  readonly #options: FenceOptions;
  /** Sandboxes whose pod is not known to live. At most as many as are remembered. */
  readonly #looks = new Map<AttachmentKey, Memory>();

  constructor(options: FenceOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look(signal);
      await sleep(this.#options.clock, tickMs, signal);
    }
  }

  /** Looks at each sandbox that is due, once. A sandbox whose namespace could not be seen cannot be fenced. */
  async look(signal: AbortSignal): Promise<void> {
    const { sandboxes, isAlive, clock, log } = this.#options;
    const claimed = sandboxes.all().filter(({ claim, netnsId }) => claim !== undefined && netnsId !== "");
    const keys = new Set(claimed.map(attachmentKey));
    for (const key of this.#looks.keys()) if (!keys.has(key)) this.#looks.delete(key);
    for (const sandbox of claimed) {
      if (signal.aborted) return;
      const key = attachmentKey(sandbox);
      if (isAlive(sandbox.pod)) {
        this.#looks.delete(key);
        continue;
      }
      const memory = this.#looks.get(key) ?? { nextMs: 0, wasOver: false };
      if (clock.monotonicMs() < memory.nextMs) continue;
      using limit = deadline(clock, lookMs, signal);
      try {
        await this.#one(sandbox, memory, limit.signal);
      } catch (error) {
        if (signal.aborted) return;
        // The API server is away, or this sandbox is special: the next tick tries it after the others' turn.
        memory.nextMs = clock.monotonicMs() + againMs.wait;
        this.#looks.set(key, memory);
        const { containerId, interfaceName } = sandbox;
        log.debug("a sandbox could not be looked at", { containerId, interfaceName, error });
      }
    }
  }

  async #one(sandbox: KnownSandbox, memory: Memory, signal: AbortSignal): Promise<void> {
    const { facts, sandboxes, clock } = this.#options;
    const isThere = (await sandboxes.isThere(sandbox)) === true;
    const pod = isThere ? await facts.pod(sandbox.pod, signal) : "gone";
    const isUsedElsewhere = isThere && pod !== "alive" && (await this.#isUsedElsewhere(sandbox, signal));
    const verdict = judgeSandbox({ isThere, pod, wasOver: memory.wasOver, isUsedElsewhere });
    if (sandboxes.get(sandbox) !== sandbox) return; // its DEL came meanwhile
    if (verdict === "forget") return sandboxes.forget(sandbox);
    if (verdict === "fence") await this.#fence(sandbox, signal);
    const nextMs = clock.monotonicMs() + againMs[verdict];
    this.#looks.set(attachmentKey(sandbox), { nextMs, wasOver: pod === "over" });
  }

  async #isUsedElsewhere({ holds, pod }: KnownSandbox, signal: AbortSignal): Promise<boolean> {
    const { facts } = this.#options;
    for (const place of holds) {
      const hold = await facts.hold(place, signal);
      if (hold === undefined) continue;
      for (const other of othersAt(hold, pod)) if ((await facts.pod(other, signal)) === "alive") return true;
    }
    return false;
  }

  async #fence(sandbox: KnownSandbox, signal: AbortSignal): Promise<void> {
    const { shut, tell, onFence, log } = this.#options;
    const { netns, netnsId, pod, claim = pod, containerId } = sandbox;
    const podName = `${pod.namespace}/${pod.name}`;
    const links = await shut({ netns, netnsId, links: linksOf(sandbox) }, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      const failure = "an old guest has the address of a VM that runs elsewhere, and could not be cut off: remove it";
      log.error(failure, { containerId, netns, pod: podName, error });
      return [];
    });
    if (links.length === 0) return; // down already, or tried again later
    const addresses = sandbox.holds.map(({ address }) => address).join(", ");
    const words =
      `${links.join(" and ")} of the old sandbox of pod ${podName} was taken down: ` +
      `the pod is over, and another uses ${addresses}. The kubelet ends the sandbox; if it does not, remove it by hand.`;
    log.warn(words, { containerId, netns, claim: `${claim.namespace}/${claim.name}` });
    const { namespace, name, uid } = claim;
    const object = { apiVersion: "k8s.cni.cncf.io/v1alpha1", kind: "IPAMClaim", metadata: { namespace, name, uid } };
    tell(object, "Warning", "OldSandboxFenced", words);
    onFence();
  }
}
