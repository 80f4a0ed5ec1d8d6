// Forgets events after an hour, as the real server does; otherwise they would fill the memory over the months.
import { type Clock, sleep } from "../../kube/clock.ts";
import { digString } from "../json.ts";
import type { Entry } from "../store/entry.ts";
import type { Store } from "../store/store.ts";

/** The real server's default (--event-ttl). */
const lifetimeMs = 60 * 60_000;
/** An event may live so much longer than its hour. */
const sweepIntervalMs = 5 * 60_000;
/** One commit takes so many; a burst of more is worked off in several, with others' writes in between. */
const sweepMax = 500;

/** Runs until the signal aborts. */
export async function expireEvents(store: Store, clock: Clock, signal: AbortSignal): Promise<void> {
  while (await sleep(clock, sweepIntervalMs, signal)) {
    // What a full disk keeps from being deleted now is old enough next time too.
    await sweep(store, clock.wallMs() - lifetimeMs).catch(() => {});
  }
}

async function sweep(store: Store, before: number): Promise<void> {
  const old = [...store.collection("/events").values()].filter((entry) => lastTold(entry) < before);
  for (let at = 0; at < old.length; at += sweepMax) {
    await store.write((transaction) => {
      for (const entry of old.slice(at, at + sweepMax)) {
        // One that was told again meanwhile stays.
        if (transaction.get(entry)?.revision === entry.revision) transaction.delete(entry);
      }
    });
  }
}

function lastTold({ object }: Entry): number {
  const times = [
    object.metadata.creationTimestamp ?? undefined,
    digString(object, "lastTimestamp"),
    digString(object, "eventTime"),
    digString(object, "series", "lastObservedTime"),
  ];
  return Math.max(...times.map((time) => (time === undefined ? 0 : Date.parse(time))));
}
