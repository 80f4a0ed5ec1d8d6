// The outside world of the node daemon (bin/node.ts gives the real one, tests their own), and the parts that its
// commands work with: put together once, in daemon.ts.
import type { Socket } from "node:net";

import type { Trusted } from "../cluster/trusted-namespaces.ts";
import type { AttachmentInvocation } from "../cni/invocation.ts";
import type { IsolationRule } from "../cni/selection.ts";
import type { Recent } from "../kube/cache/recent.ts";
import type { Clock } from "../kube/clock.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import type { KubeMetrics } from "../kube/process/metrics.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Log } from "../log/log.ts";
import type { ClientOptions } from "../ovsdb/session/options.ts";
import type { Quota } from "./add/quota.ts";
import type { TakeParts } from "./add/take.ts";
import type { FenceFacts } from "./claims/fence/fence-facts.ts";
import type { FenceOptions } from "./claims/fence/fence.ts";
import type { ClaimHolds } from "./claims/hold/claim-holds.ts";
import type { StatusWriter } from "./claims/hold/status-writer.ts";
import type { userReader } from "./claims/hold/users.ts";
import type { claimSearch } from "./claims/resolve/find-claim.ts";
import type { HoldIndex } from "./holds/hold-index.ts";
import type { Reassert } from "./holds/reassert.ts";
import type { Sandboxes, SandboxesOptions } from "./holds/sandboxes.ts";
import type { History } from "./holds/server-history.ts";
import type { ProbeAnswer, ProbeRequest } from "./kernel/probe.ts";
import type { NodeMetrics } from "./metrics.ts";
import type { OvnNetworks } from "./ovn/ovn-networks.ts";
import type { Readiness } from "./readiness.ts";
import type { Intents } from "./release/intents.ts";
import type { Releases } from "./release/release.ts";
import type { Spool } from "./release/spool.ts";
import type { Attachments } from "./request/attachment.ts";
import type { LoadConfig } from "./request/configurations.ts";
import type { Disk } from "./request/flat-file.ts";
import type { FindPod } from "./request/pods.ts";
import type { SliceFacade } from "./slices/slice-facade.ts";

export type Probe = (request: ProbeRequest) => Promise<ProbeAnswer>;

export type Tell = EventRecorder["record"];

export interface DaemonOptions {
  /** The maker observes its calls: `onCall` of NodeMetrics. */
  readonly client: KubeClient;
  readonly node: string;
  readonly systemNamespace: string;
  readonly socket: string;
  /** Folder of the state that must survive a restart. */
  readonly state: string;
  readonly isolation: IsolationRule;
  /** `--trusted-namespaces` beside the system namespace. Default: `default`. */
  readonly trustedNamespaces?: readonly string[];
  readonly cooldownMs: number;
  /** How long this node hands out of its slices without hearing from the API server. Default: 12 hours. */
  readonly sliceAuthorityMs?: number;
  /** How long shared ranges rest after the API server was restored from an older copy (holds/server-history.ts). */
  readonly restoreSettleMs?: number;
  /** How long an ADD waits for a claim that is about to be made. Default: 25 s. */
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
  /** Where OVN is; absent: no pods are attached to its networks. */
  readonly ovnPlace?: OvnPlace;
  readonly peerUid: (socket: Socket) => number;
  readonly ownUid: number;
  readonly log: Log;
  readonly onListen?: () => void;
}

export interface OvnPlace {
  /** As Open vSwitch writes them, as all endpoints of databases. */
  readonly northbound: Pick<ClientOptions, "endpoints" | "tls">;
  /** Open vSwitch of this node. */
  readonly switchEndpoints: string;
  /** Of interfaces, where the definition names none. */
  readonly mtu: number;
}

/** Of a runtime, about one attachment. */
export interface CniRequest {
  readonly invocation: AttachmentInvocation;
  /** Of the configuration. */
  readonly text: string;
  readonly signal: AbortSignal;
}

export interface DaemonContext extends Pick<DaemonOptions, "clock" | "cooldownMs" | "isolation" | "probe" | "log"> {
  /** Stands for the namespace of containers whose runtime has none. */
  readonly nodeName: string;
  readonly poolNamespace: string;
  readonly trusted: Trusted;
  readonly loadConfig: LoadConfig;
  readonly findPod: FindPod;
  readonly held: HoldIndex;
  readonly sliced: SliceFacade;
  readonly facts: Pick<FenceFacts, "hold">;
  readonly history: Pick<History, "assertSettled">;
  readonly readiness: Pick<Readiness, "assertReady" | "assertKnown" | "obstacles" | "mayRelease">;
  readonly reassert: Pick<Reassert, "conflicts">;
  readonly attachments: Attachments;
  readonly intents: Intents;
  readonly sandboxes: Pick<Sandboxes, "identify" | "remember" | "forget">;
  readonly spool: Pick<Spool, "settled">;
  /** Attachments that surely hold nothing: runtimes delete a sandbox several times. Key: AttachmentKey. */
  readonly gone: Recent<true>;
  readonly sources: TakeParts;
  readonly releases: Releases;
  readonly claims: {
    readonly find: ReturnType<typeof claimSearch>;
    readonly holds: ClaimHolds;
    readonly usersIn: ReturnType<typeof userReader>;
    readonly statuses: StatusWriter;
    /** Empty, or in a sentence why no claim holds anything. */
    readonly obstacle: () => string;
  };
  readonly quota: Quota;
  /** Absent: this node attaches no pods to networks of OVN. */
  readonly ovn?: Pick<OvnNetworks, "ask" | "attach" | "attacher" | "obstacles" | "stale">;
  readonly tell: Tell;
  readonly wake: () => void;
}
