// The earliest true sign that a guest goes on at this node: told on the target's pod, which wakes the leader before
// KubeVirt has said it (two round trips to the API server later).
//
// Promised: a sign is told only of a frame that QEMU sends when the guest goes on. Not promised: that there is one; a
// guest whose sign was missed is moved when KubeVirt says it.
import type { Clock } from "../../kube/clock.ts";
import { isApiError } from "../../kube/errors.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Log } from "../../log/log.ts";
import type { Mac } from "../../net/mac.ts";
import { podPort } from "../../ovn/names.ts";
import { annotateOurs } from "../leader/annotate.ts";
import type { MigrationCaches } from "../leader/caches.ts";
import { guestSeenAnnotation, isLiving, type Launcher } from "../objects/launcher.ts";
import type { Chassis } from "./chassis.ts";

/** True: QEMU has announced the guest of this MAC on the interface. False: the signal came first. */
type WatchArrival = (link: string, mac: Mac, signal: AbortSignal) => Promise<boolean>;

export interface EarlySignsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
  readonly caches: Pick<MigrationCaches, "pods" | "launcher">;
  readonly chassis: Pick<Chassis, "linkOf" | "handle">;
  readonly watch: WatchArrival;
}

export class EarlySigns {
  readonly #options: EarlySignsOptions;
  /** UID of a target -> what ends the watch. At most as many as guests arrive at once. */
  readonly #watching = new Map<string, AbortController>();

  constructor(options: EarlySignsOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. */
  follow(signal: AbortSignal): void {
    const { caches, chassis } = this.#options;
    const look = () => this.#look(signal);
    const ends = [caches.pods.handle(look), chassis.handle(look)];
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
  }

  #look(signal: AbortSignal): void {
    const { caches, node } = this.#options;
    const awaited = new Map(
      caches.pods.cache.byIndex("node", node).flatMap((pod): [string, Launcher][] => {
        const launcher = caches.launcher(pod);
        return launcher !== undefined && isAwaited(launcher) ? [[launcher.uid, launcher]] : [];
      }),
    );
    for (const [uid, watching] of this.#watching) {
      if (awaited.has(uid)) continue;
      watching.abort();
      this.#watching.delete(uid);
    }
    for (const [uid, launcher] of awaited) if (!this.#watching.has(uid)) this.#begin(launcher, signal);
  }

  #begin(launcher: Launcher, signal: AbortSignal): void {
    const { chassis, log } = this.#options;
    const { namespace, name, uid, network } = launcher;
    const link = chassis.linkOf(podPort(namespace, name));
    // It is not plugged in yet, or not addressed: either is told.
    if (link === undefined || network === undefined) return;
    const watching = new AbortController();
    this.#watching.set(uid, watching);
    const until = AbortSignal.any([signal, watching.signal]);
    // One that fails is not begun anew: its cable went away, and so will the pod.
    this.#watch(launcher, link, network.mac, until).catch((error: unknown) => {
      if (!until.aborted)
        log.warn("a guest's arrival is not watched for; KubeVirt's word counts", { pod: name, error });
    });
  }

  async #watch(launcher: Launcher, link: string, mac: Mac, signal: AbortSignal): Promise<void> {
    const { client, clock, log, watch, caches } = this.#options;
    if (!(await watch(link, mac, signal))) return;
    const seen = new Date(clock.wallMs()).toISOString();
    const pod = caches.pods.cache.get(`${launcher.namespace}/${launcher.name}`);
    if (pod === undefined || pod.metadata.uid !== launcher.uid) return;
    log.info("a guest goes on here", { vm: `${launcher.namespace}/${launcher.vm}`, pod: launcher.name });
    try {
      await annotateOurs(client, pod, { [guestSeenAnnotation]: `${seen} rarp` }, signal);
    } catch (error) {
      if (!isApiError(error, "not-found", "conflict", "invalid")) throw error;
    }
  }
}

/** A target whose guest nobody has seen there. */
function isAwaited(launcher: Launcher): boolean {
  const { isTarget, ready, sign } = launcher;
  return isTarget && isLiving(launcher) && ready === undefined && sign === undefined;
}
