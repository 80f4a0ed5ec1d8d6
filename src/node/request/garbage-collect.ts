// GC: holds that this node recorded for a network and that the runtime no longer lists are given back. The list has no
// attachments of other networks. So a hold is freed only if it has the same network name and comes out of this
// configuration's ranges (definitions in two namespaces are often called alike), and no request is working on it.
import { formatDomain, isSliceDomain } from "../../api/pools/domain.ts";
import { poolNamesToRead } from "../../api/pools/pool-name.ts";
import { type Attachment, parseValidAttachments } from "../../cni/attachments.ts";
import type { IpamConfig } from "../../cni/config/ipam-config.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { describeOwner } from "../../ipam/owner.ts";
import { parseKey } from "../../kube/meta.ts";
import { networkOf } from "../add/hold-note.ts";
import type { SlicedMap } from "../add/range-source.ts";
import { poolsOf } from "../add/shares.ts";
import type { DaemonContext } from "../context.ts";
import { attachmentOf } from "../holds/hold-index.ts";
import { del } from "../release/delete.ts";
import { type AttachmentKey, attachmentKey } from "./attachment.ts";
import { configIn, type LoadedConfig } from "./configurations.ts";

export async function collect(parts: DaemonContext, text: string, signal: AbortSignal): Promise<void> {
  const loaded = await configIn(parts, "GC", text);
  const valid = loaded && validIn(parts, loaded);
  if (loaded === undefined || valid === undefined) return;
  for (const stale of parts.ovn?.stale(loaded.network, valid, signal) ?? []) {
    if (!parts.attachments.isBusy(stale.invocation)) await del(parts, stale);
  }
  if (!parts.sliced.isWhole(loaded.config)) await parts.readiness.assertReady(signal);
  using look = parts.sliced.look();
  const { config } = loaded;
  const isOurs = (hold: Hold) => networkOf(hold.note?.why) === config.name && isFrom(parts, config, hold, look);
  // What a port still has is given back when that has gone.
  const isPlugged = (of: Attachment) => parts.ovn?.attacher.has(of) === true;
  const isStale = (of: Attachment) => !valid.has(attachmentKey(of)) && !parts.attachments.isBusy(of) && !isPlugged(of);
  const stale = [...parts.held.all(), ...parts.sliced.all()].flatMap((entry) => {
    const attachment = attachmentOf(entry.hold);
    return attachment !== undefined && isOurs(entry.hold) && isStale(attachment) ? [{ entry, attachment }] : [];
  });
  const cooldownMs = config.cooldownMs ?? parts.cooldownMs;
  for (const { entry, attachment } of stale) {
    await parts.attachments.delete(attachment, signal, async () => {
      // Else its hold would be made again.
      await parts.sandboxes.forget(attachment);
      return parts.releases.free(entry, { attachment, cooldownMs, signal });
    });
    const { owner, address } = entry.hold;
    const what = { owner: describeOwner(owner), ...attachment, address: String(address) };
    parts.log.info("collected, the runtime does not list it", { ...what, network: config.name });
  }
}

/** Undefined where the list is missing or broken: read as empty, it would free every pod's addresses on the node. */
function validIn({ log }: DaemonContext, { network }: LoadedConfig): ReadonlySet<AttachmentKey> | undefined {
  try {
    return new Set(parseValidAttachments(network.plugin).map(attachmentKey));
  } catch (error) {
    log.warn("GC without a list that can be read; nothing is freed by it", { network: network.name, error });
    return undefined;
  }
}

function isFrom(parts: DaemonContext, config: IpamConfig, hold: Hold, sliced: SlicedMap): boolean {
  const { domain, note } = hold;
  if (isSliceDomain(domain)) return parts.sliced.isFrom(config, hold);
  // Without a pool it was asked for by number, and is in none of the ranges.
  if (note?.pool === undefined) return domain === formatDomain({ scope: "network", network: config.networkName });
  const { namespace = "", name } = parseKey(note.pool);
  const pools = poolsOf(config, namespace, sliced);
  return pools.some(({ identity, naming }) => poolNamesToRead(identity, naming).includes(name));
}
