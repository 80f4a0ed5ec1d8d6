// What the commands of the daemon work with. Put together once, in daemon.ts.
import type { DeepReadonly, KubeObject } from "../kube/meta.ts";
import type { Recent } from "../kube/recent.ts";
import type { Attachments } from "./attachment.ts";
import type { FenceFacts } from "./claims/fence-facts.ts";
import type { ClaimParts } from "./claims/parts.ts";
import type { Configs } from "./configs.ts";
import type { DaemonOptions } from "./daemon-options.ts";
import type { Held } from "./held.ts";
import type { History } from "./history.ts";
import type { Intents } from "./intents.ts";
import type { ProbeAnswer, ProbeRequest } from "./kernel/probe.ts";
import type { Pods } from "./pods.ts";
import type { Quota } from "./quota.ts";
import type { Readiness } from "./readiness.ts";
import type { Releases } from "./release.ts";
import type { Sandboxes } from "./sandboxes.ts";
import type { Sliced } from "./sliced.ts";
import type { Spool } from "./spool.ts";
import type { TakeParts } from "./take.ts";

export type Probe = (request: ProbeRequest) => Promise<ProbeAnswer>;

type TellPod = (pod: DeepReadonly<KubeObject>, type: "Normal" | "Warning", reason: string, message: string) => void;

export interface Parts
  extends
    Pick<DaemonOptions, "cooldownMs" | "isolation" | "probe" | "log">,
    Pick<Readiness, "assertReady" | "assertKnown" | "obstacles">,
    Pick<History, "assertSettled"> {
  /** Stands for the namespace of containers whose runtime has none. */
  readonly nodeName: string;
  readonly poolNamespace: string;
  readonly configs: Configs;
  readonly pods: Pick<Pods, "find">;
  readonly held: Held;
  readonly sliced: Sliced;
  /** What the ledger says now; undefined: nobody holds it. */
  readonly holdAt: FenceFacts["hold"];
  readonly attachments: Attachments;
  readonly intents: Intents;
  readonly sandboxes: Pick<Sandboxes, "remember" | "forget">;
  readonly spool: Pick<Spool, "settled">;
  /** Attachments of which nothing is held for certain: runtimes delete a sandbox several times. Key: AttachmentKey. */
  readonly gone: Recent<true>;
  readonly sources: TakeParts;
  readonly releases: Releases;
  readonly claims: ClaimParts;
  readonly quota: Quota;
  readonly tell: TellPod;
  readonly now: () => number;
  /** Whether what this node holds is known, and releases may be written: otherwise they are only recorded. */
  readonly mayRelease: () => boolean;
  readonly conflicts: () => number;
  readonly wake: () => void;
}
