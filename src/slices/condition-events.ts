// Events about pools and definitions (disagreement, overlap, exhaustion, conflict): each at its begin and at its end.
import { networkAttachmentDefinitions } from "../cluster/resources.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import { type DeepReadonly, type KubeObject, picked } from "../kube/meta.ts";
import { apiVersionOf } from "../kube/resource.ts";
import type { SlicePlan } from "./plan/facts.ts";
import type { PoolTarget } from "./ranges/pool-targets.ts";
import type { ReadPool } from "./writers/pool-object.ts";

type About = DeepReadonly<KubeObject>;

export class ConditionEvents {
  readonly #events: EventRecorder | undefined;
  /** Key: the pool and the reason. Value: the last words. */
  readonly #last = new Map<string, string>();

  constructor(events: EventRecorder | undefined) {
    this.#events = events;
  }

  tell(target: PoolTarget, plan: SlicePlan, pool: ReadPool): void {
    const about = [pool.object as About, ...target.definitions.map(definitionOf)];
    const { refusal, disagreement } = target;
    const differ = disagreement ?? (refusal?.reason === "Disagreement" ? refusal.why : undefined);
    this.#once(target, about, "Disagreement", differ, "All definitions of the range say the same again.");
    const overlap = refusal !== undefined && refusal.reason !== "Disagreement" ? refusal.why : undefined;
    const reason = refusal?.reason === "OnRecord" ? "OnRecord" : "Overlapping";
    this.#once(target, about, reason, overlap, "The range overlaps no other any more.");
    this.#once(target, about, "Exhausted", plan.exhausted, "There are addresses for every node again.");
    const conflicts = plan.conflicts.length === 0 ? undefined : plan.conflicts.join(" ");
    this.#once(target, about.slice(0, 1), "Conflict", conflicts, "No two slices overlap any more.");
  }

  /** A target that has no pool. */
  refuse(target: PoolTarget): void {
    const { refusal, definitions } = target;
    if (refusal !== undefined) this.#once(target, definitions.map(definitionOf), refusal.reason, refusal.why, "");
  }

  forget(key: string): void {
    for (const each of this.#last.keys()) if (each.startsWith(`${key} `)) this.#last.delete(each);
  }

  #once({ key }: PoolTarget, about: readonly About[], reason: string, words: string | undefined, over: string): void {
    const label = `${key} ${reason}`;
    const before = this.#last.get(label);
    if (before === words) return;
    if (words === undefined) this.#last.delete(label);
    else this.#last.set(label, words);
    for (const object of about) {
      if (words === undefined) this.#events?.record(object, "Normal", `${reason}Over`, over);
      else this.#events?.record(object, "Warning", reason, words);
    }
  }
}

function definitionOf({ metadata }: PoolTarget["definitions"][number]): About {
  const { kind } = networkAttachmentDefinitions;
  const apiVersion = apiVersionOf(networkAttachmentDefinitions);
  return { apiVersion, kind, metadata: picked(metadata, "namespace", "name", "uid") };
}
