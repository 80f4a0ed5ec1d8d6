// Tells the other agents of quarantines, by an annotation of the Hold. One write at a time, ten a second at most; of
// one Hold the newest word counts. What cannot be written is told and dropped: this agent's own wire knows of it.
import { quarantineAnnotation } from "../../api/vmnet/marks.ts";
import { holds } from "../../cluster/resources.ts";
import { asError } from "../../kube/abort.ts";
import { type Clock, sleep } from "../../kube/clock.ts";
import { isApiError } from "../../kube/errors.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import { type Quarantined, quarantineText } from "../compile/hold.ts";

export interface QuarantineWriterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly systemNamespace: string;
  readonly onError: (error: Error) => void;
}

interface Waiting {
  readonly uid: string;
  /** Undefined: it is over. */
  readonly quarantine: Quarantined | undefined;
  readonly tries: number;
}

/** As many as the wire remembers (src/dhcp/server/quarantine.ts). */
const waitingMax = 4096;
const pauseMs = 100;
const retryMs = 2000;
const triesMax = 10;
const callMs = 5000;

export class QuarantineWriter {
  readonly #options: QuarantineWriterOptions;
  /** Key: the Hold's name. */
  readonly #waiting = new Map<string, Waiting>();
  #wake = () => {};

  constructor(options: QuarantineWriterOptions) {
    this.#options = options;
  }

  /** `uid`: an address that was given to another meanwhile is not meant. */
  write(hold: { readonly name: string; readonly uid: string }, quarantine: Quarantined | undefined): void {
    if (this.#waiting.size >= waitingMax && !this.#waiting.has(hold.name)) return;
    this.#waiting.set(hold.name, { uid: hold.uid, quarantine, tries: 0 });
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    while (!signal.aborted) {
      const [next] = this.#waiting;
      if (next === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      this.#waiting.delete(next[0]);
      const isWritten = await this.#patch(...next, signal);
      await sleep(clock, isWritten ? pauseMs : retryMs, signal);
    }
  }

  /** False: the server could not be asked, and it waits again. */
  async #patch(name: string, waiting: Waiting, signal: AbortSignal): Promise<boolean> {
    const { client, systemNamespace, onError } = this.#options;
    const { uid, quarantine, tries } = waiting;
    const text = quarantine === undefined ? null : quarantineText(quarantine);
    const body = { metadata: { uid, annotations: { [quarantineAnnotation]: text } } };
    const at = { namespace: systemNamespace, name };
    try {
      // Gone, or another's: there is nothing to tell.
      const patch = client.patch(holds, at, { type: "merge", body }, { signal, timeoutMs: callMs });
      await unless(["not-found", "conflict", "invalid"], patch);
      return true;
    } catch (error) {
      const isPassing = isApiError(error, "unreachable", "outcome-unknown", "unavailable", "too-many-requests");
      const isLast = !isPassing || tries + 1 >= triesMax;
      if (isLast && !signal.aborted) onError(asError(error));
      if (!isLast && !this.#waiting.has(name)) this.#waiting.set(name, { ...waiting, tries: tries + 1 });
      return isLast;
    }
  }
}
