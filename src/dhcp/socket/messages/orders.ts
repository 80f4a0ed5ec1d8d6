// What the two threads of a wire say to each other: orders there, reports back. Plain values alone.
import type { KernelFailure } from "../../../linux/libc.ts";
import type { Mac } from "../../../net/mac.ts";
import type { RateLimitOptions } from "../../server/rate-limit.ts";
import type {
  LinkDefinition,
  LinkReport,
  ProbeResult,
  ReceivedFrame,
  TraceBatch,
  TraceOptions,
  WireCounters,
} from "../interface.ts";
import type { PackedEffects } from "./effect-queue.ts";
import type { PackedBindings } from "./pack-bindings.ts";
import type { PackedPool } from "./pack-pool.ts";

/** What the thread is started with. */
export interface ThreadPlan {
  readonly netns: string | undefined;
  readonly relay: { readonly address: number; readonly port: number } | undefined;
  readonly rateLimit: RateLimitOptions | undefined;
  /** An eventfd(2), owned by the main thread: written to after every order, since the thread waits in poll(2). */
  readonly wake: number;
}

export type Order =
  | { readonly kind: "link"; readonly link: LinkDefinition }
  | { readonly kind: "delete-network"; readonly network: string }
  | { readonly kind: "pool"; readonly network: string; readonly pool: PackedPool }
  | { readonly kind: "delete-pool"; readonly network: string; readonly pool: string }
  | {
      readonly kind: "bindings";
      readonly network: string;
      /** Those that are not named go. */
      readonly isReplacing: boolean;
      readonly deleted: Uint32Array;
      readonly set: PackedBindings;
    }
  | { readonly kind: "quarantine"; readonly network: string; readonly address: number; readonly untilMs?: number }
  | { readonly kind: "answer"; readonly network: string; readonly address: number; readonly isOn: boolean }
  | {
      readonly kind: "probe";
      readonly id: number;
      readonly network: string;
      readonly address: number;
      readonly timeoutMs: number;
    }
  | { readonly kind: "forget-probe"; readonly id: number; readonly network: string }
  | { readonly kind: "count"; readonly id: number }
  | { readonly kind: "trace"; readonly id: number; readonly options: TraceOptions }
  | { readonly kind: "end-trace"; readonly id: number }
  | { readonly kind: "send"; readonly network: string; readonly frame: Uint8Array }
  /** The last batch was dealt with: the next may come. */
  | { readonly kind: "taken" }
  | { readonly kind: "stop" };

export type Report =
  | { readonly kind: "ready" }
  | ({ readonly kind: "failed" } & KernelFailure)
  | {
      readonly kind: "batch";
      readonly effects: PackedEffects;
      readonly frames: readonly ReceivedFrame[];
      readonly traces: readonly { readonly id: number; readonly batch: TraceBatch }[];
    }
  | { readonly kind: "link"; readonly report: LinkReport }
  | { readonly kind: "contested"; readonly network: string; readonly address: number; readonly mac: Mac }
  | { readonly kind: "probed"; readonly id: number; readonly result: ProbeResult }
  | ({ readonly kind: "probe-failed"; readonly id: number } & KernelFailure)
  | { readonly kind: "counted"; readonly id: number; readonly counters: WireCounters };
