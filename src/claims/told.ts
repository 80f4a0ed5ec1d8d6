// Events of plans: a plan says what is so each time it is made; people are told once, and again after a while.
import type { Clock } from "../kube/clock.ts";
import type { EventRecorder } from "../kube/events.ts";
import { Recent } from "../kube/recent.ts";
import type { ClaimEvent } from "./plan/steps.ts";

const kinds = {
  vm: { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine" },
  vmi: { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance" },
  claim: { apiVersion: "k8s.cni.cncf.io/v1alpha1", kind: "IPAMClaim" },
  pod: { apiVersion: "v1", kind: "Pod" },
} as const;
/** The server keeps events for an hour. */
const againMs = 3_600_000;
/** About 300 bytes each: 6 MB. What is forgotten is told again. */
const remembered = 20_000;

export class Told {
  readonly #events: EventRecorder | undefined;
  readonly #clock: Clock;
  /** What was said -> when. */
  readonly #last = new Recent<number>(remembered);

  constructor(events: EventRecorder | undefined, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  tell(namespace: string, { on, name, uid, type, reason, message }: ClaimEvent): void {
    const key = `${uid} ${reason} ${message}`;
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#last.get(key);
    if (lastMs !== undefined && nowMs - lastMs < againMs) return;
    this.#last.set(key, nowMs);
    const metadata = { namespace, name, uid };
    this.#events?.record({ ...kinds[on], metadata }, type, reason, message);
  }
}
