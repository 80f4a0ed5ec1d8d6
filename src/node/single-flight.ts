// Work that many callers wait for and one does: it ends early only when all of them are called off. A failure is
// forgotten, so that the next caller tries again.
import { orAborted } from "../kube/abort.ts";

interface Job<T> {
  readonly promise: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
  isDone: boolean;
}

export class SingleFlight<T> {
  /** Key -> the work under way, or with `keep` its result. */
  readonly #jobs = new Map<string, Job<T>>();
  readonly #keep: boolean;

  constructor({ keep = true }: { readonly keep?: boolean } = {}) {
    this.#keep = keep;
  }

  async get(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const job = this.#jobs.get(key) ?? this.#start(key, work);
    if (job.isDone) return job.promise;
    job.waiting += 1;
    try {
      return await orAborted(job.promise, signal);
    } finally {
      job.waiting -= 1;
      if (job.waiting === 0 && !job.isDone) {
        job.stop.abort(signal.reason);
        this.#drop(key, job);
      }
    }
  }

  clear(): void {
    this.#jobs.clear();
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): Job<T> {
    const stop = new AbortController();
    const job: Job<T> = { promise: Promise.try(() => work(stop.signal)), stop, waiting: 0, isDone: false };
    const end = (isKept: boolean) => {
      job.isDone = true;
      if (!isKept) this.#drop(key, job);
    };
    this.#jobs.set(key, job);
    // Callers are told of a failure; here it is only forgotten.
    void job.promise.then(
      () => end(this.#keep),
      () => end(false),
    );
    return job;
  }

  #drop(key: string, job: Job<T>): void {
    if (this.#jobs.get(key) === job) this.#jobs.delete(key);
  }
}
