// What the commands of the daemon work with. Put together once, in daemon.ts.
import type { Recent } from "../kube/cache/recent.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { Quota } from "./add/quota.ts";
import type { TakeParts } from "./add/take.ts";
import type { ClaimContext } from "./claims/context.ts";
import type { FenceFacts } from "./claims/fence/fence-facts.ts";
import type { DaemonOptions } from "./daemon-options.ts";
import type { HoldIndex } from "./holds/hold-index.ts";
import type { Sandboxes } from "./holds/sandboxes.ts";
import type { History } from "./holds/server-history.ts";
import type { ProbeAnswer, ProbeRequest } from "./kernel/probe.ts";
import type { Readiness } from "./readiness.ts";
import type { Intents } from "./release/intents.ts";
import type { Releases } from "./release/release.ts";
import type { Spool } from "./release/spool.ts";
import type { Attachments } from "./request/attachment.ts";
import type { Configs } from "./request/configurations.ts";
import type { Pods } from "./request/pods.ts";
import type { SliceFacade } from "./slices/slice-facade.ts";

export type Probe = (request: ProbeRequest) => Promise<ProbeAnswer>;

/** An event of an object. */
export type Tell = EventRecorder["record"];

export interface DaemonContext
  extends
    Pick<DaemonOptions, "clock" | "cooldownMs" | "isolation" | "probe" | "log">,
    Pick<Readiness, "assertReady" | "assertKnown" | "obstacles">,
    Pick<History, "assertSettled"> {
  /** Stands for the namespace of containers whose runtime has none. */
  readonly nodeName: string;
  readonly poolNamespace: string;
  readonly configs: Configs;
  readonly pods: Pods;
  readonly held: HoldIndex;
  readonly sliced: SliceFacade;
  /** What the ledger says now; undefined: nobody holds it. */
  readonly holdAt: FenceFacts["hold"];
  readonly attachments: Attachments;
  readonly intents: Intents;
  readonly sandboxes: Pick<Sandboxes, "identify" | "remember" | "forget">;
  readonly spool: Pick<Spool, "settled">;
  /** Attachments of which nothing is held for certain: runtimes delete a sandbox several times. Key: AttachmentKey. */
  readonly gone: Recent<true>;
  readonly sources: TakeParts;
  readonly releases: Releases;
  readonly claims: ClaimContext;
  readonly quota: Quota;
  readonly tell: Tell;
  /** Whether what this node holds is known, and releases may be written: otherwise they are only recorded. */
  readonly mayRelease: () => boolean;
  readonly conflicts: () => number;
  readonly wake: () => void;
}
