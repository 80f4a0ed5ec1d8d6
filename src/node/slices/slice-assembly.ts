// A daemon's parts for this node's slices, put together: journal, agent, pools over it, and the view of requests.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { apiVersionOf } from "../../api/kind.ts";
import { ipPoolKind } from "../../api/pools/ip-pool.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { Pod } from "../../cluster/resources.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import { slicedAs } from "../add/range-source.ts";
import type { DaemonOptions, Tell } from "../context.ts";
import { attachmentOf, type HoldIndex, placeOf } from "../holds/hold-index.ts";
import { sandboxHold, type Sandboxes } from "../holds/sandboxes.ts";
import type { Ledgers } from "../pools/ledgers.ts";
import { SlicedPools } from "../pools/sliced-pools.ts";
import type { Attachments } from "../request/attachment.ts";
import type { SharedState } from "../shared-state.ts";
import { SliceAgent, type SliceAgentOptions } from "./agent.ts";
import { fileMemory, kernelMoment } from "./authority.ts";
import { SliceFacade } from "./slice-facade.ts";

export interface SliceAssemblyOptions
  extends
    DaemonOptions,
    Pick<SliceAgentOptions, "journal" | "onRestore">,
    Required<Pick<SliceAgentOptions, "daemons" | "assure">> {
  readonly held: HoldIndex;
  readonly sandboxes: Pick<Sandboxes, "get" | "move" | "remember">;
  readonly attachments: Attachments;
  readonly shared: SharedState;
  readonly pods: Informer<Pod>;
  readonly tell: Tell;
  readonly ledgers: Ledgers;
}

export const sliceFolder = (state: string) => join(state, "slices");

export function assembleSlices(options: SliceAssemblyOptions) {
  const { clock, journal, held, shared, ledgers, sliceAuthorityMs: authorityMs } = options;
  const now = () => clock.wallMs();
  const pools = new SlicedPools(journal, now);
  const obstacle = () => shared.sliceObstacle || agent.mayHandOut();
  const sliced = new SliceFacade({ journal, read: () => shared.sliced, clock, obstacle });
  const agent = new SliceAgent({
    ...options,
    ...(authorityMs !== undefined && { authorityMs }),
    seenVersion: () => sliced.seen(),
    toldVersion: () => shared.sliced.version,
    restoreNote: () => shared.restoreNote,
    ledgerOf: (namespace) => ledgers.shared(namespace),
    onMoved: (namespace, hold) => {
      const entry = { namespace, hold };
      held.put(entry);
      void rememberMoved(options, entry);
    },
    onOrphan: (hold) => {
      pools.released(hold, options.cooldownMs);
      options.metrics.orphan();
    },
    moment: kernelMoment((path) => readFileSync(path, "utf8"), now),
    memory: fileMemory(sliceFolder(options.state)),
    tell: (metadata, ...event) => {
      options.tell({ apiVersion: apiVersionOf(ipPoolKind), kind: ipPoolKind.kind, metadata }, ...event);
    },
    refusalOf: (use) => shared.refusalOf(use),
    poolOf: ({ range, ...use }) => slicedAs(range, { ...use, sliced: shared.sliced })?.pool,
  });
  const isStarting = () => !agent.isKnown();
  return { agent, sliced, source: { agent, pools, clock, held, ledgers, obstacle, isStarting } };
}

/** Remembers a hold moved out of a draining slice, in its attachment's turn: a DEL or a later ADD may come too. */
async function rememberMoved(options: SliceAssemblyOptions, entry: RecordedHold): Promise<void> {
  const { held, sandboxes, attachments } = options;
  const { namespace, hold } = entry;
  const attachment = attachmentOf(hold);
  if (attachment === undefined) return;
  const { name, uid, namespace: podNamespace } = hold.owner;
  await attachments.check(attachment, new AbortController().signal, async () => {
    if (held.get(placeOf(entry)) !== entry) return;
    const known = sandboxes.get(attachment);
    const holds = [...(known?.holds ?? []), sandboxHold(namespace, hold)];
    if (known !== undefined) await sandboxes.move(known, holds);
    // Its namespace is not known: addresses of slices are in no file of sandboxes.
    else await sandboxes.remember({ ...attachment, netns: "", pod: { namespace: podNamespace, name, uid }, holds });
  });
}
