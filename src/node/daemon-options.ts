// What the outside world is to the node daemon: bin/node.ts gives the real one, tests their own.
import type { Socket } from "node:net";

import type { IsolationRule } from "../cni/selection.ts";
import type { Clock } from "../kube/clock.ts";
import type { KubeMetrics } from "../kube/process/metrics.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Log } from "../log/log.ts";
import type { FenceOptions } from "./claims/fence/fence.ts";
import type { Probe } from "./context.ts";
import type { SandboxesOptions } from "./holds/sandboxes.ts";
import type { NodeMetrics } from "./metrics.ts";
import type { Disk } from "./request/flat-file.ts";

export interface DaemonOptions {
  /** Its calls are observed by who made it: `onCall` of NodeMetrics. */
  readonly client: KubeClient;
  readonly node: string;
  readonly systemNamespace: string;
  readonly socket: string;
  /** Folder of what must survive a restart. */
  readonly state: string;
  readonly isolation: IsolationRule;
  readonly cooldownMs: number;
  /** How long this node hands out of its slices without hearing from the API server. Default: 12 hours. */
  readonly sliceAuthorityMs?: number;
  /** How long nothing is handed out of shared ranges after the API server was restored from an older copy (holds/server-history.ts). */
  readonly restoreSettleMs?: number;
  /** How long an ADD waits for the claim that is about to be made. Default: 25 s. */
  readonly claimWaitMs?: number;
  readonly health?: { readonly host?: string; readonly port?: number };
  readonly metrics: NodeMetrics;
  readonly kubeMetrics?: KubeMetrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly disk: Disk;
  readonly folders: readonly string[];
  readonly probe: Probe;
  /** The kernel's part of keeping old guests off the network (claims/fence/fence.ts). Absent: nobody is fenced. */
  readonly fencing?: Pick<FenceOptions, "shut"> & Pick<SandboxesOptions, "identify">;
  readonly peerUid: (socket: Socket) => number;
  readonly ownUid: number;
  readonly log: Log;
  readonly onListen?: () => void;
}
