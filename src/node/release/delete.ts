// DEL: everything that one sandbox holds on one interface is given back, or the promise to do so is on the disk. Works with
// whatever it is given, and succeeds on what is gone. A sandbox that a later one has replaced frees nothing.
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { deadline } from "../../kube/clock.ts";
import { poolsOf } from "../add/shares.ts";
import type { DaemonContext } from "../context.ts";
import { attachmentKey } from "../request/attachment.ts";
import { configIn, type LoadedConfig } from "../request/configurations.ts";
import { type Intent, type IntentPool, joinIntents } from "./intents.ts";

/** The API server answers in milliseconds or is in trouble; then the release is recorded, and the pod's end does not wait. */
const patienceMs = 15_000;
/** A daemon that has just started learns what its node holds within moments, if it can. */
const startMs = 3000;

/** `isKept`: the runtime has its answer already, so the promise on the disk is enough, and nobody waits for the API server. */
export async function del(
  parts: DaemonContext,
  invocation: AttachmentInvocation,
  text: string,
  signal: AbortSignal,
  isKept = false,
): Promise<void> {
  const { containerId, interfaceName } = invocation;
  const about = { pod: podText(invocation), containerId, interfaceName };
  if (containerId === "" || interfaceName === "") {
    const words = "a DEL does not say which interface of which container it is about: nothing is freed by it";
    return parts.log.warn(words, { pod: about.pod });
  }
  const loaded = await configIn(parts, "DEL", text);
  await parts.attachments.delete(invocation, signal, async () => {
    await parts.sandboxes.forget(invocation);
    const intent = intentOf(parts, invocation, loaded);
    const isKnown = parts.held.ofAttachment(invocation).length > 0 || parts.intents.get(invocation) !== undefined;
    if (await releaseSliced(parts, invocation, loaded, signal)) return;
    const isOver = parts.gone.get(attachmentKey(invocation)) !== undefined && !isKnown;
    if (isOver) return;
    try {
      if (isKept) throw new Error("the plugin kept it while no daemon answered");
      using start = deadline(parts.clock, startMs, signal);
      if (!parts.mayRelease()) await parts.assertKnown(start.signal);
      if (!parts.mayRelease()) throw new Error("handing out is paused, and so are releases");
      const pending = parts.intents.get(invocation);
      using limit = deadline(parts.clock, patienceMs, signal);
      const whole = pending === undefined ? intent : joinIntents(pending, intent);
      const freed = await parts.releases.release(whole, limit.signal);
      await parts.intents.remove(invocation);
      parts.gone.set(attachmentKey(invocation), true);
      parts.log.info("released", { ...about, freed });
    } catch (error) {
      await parts.intents.add(intent);
      parts.log.warn("the release is recorded and follows", { ...about, error });
      parts.wake();
    }
  });
}

/** Gives back what comes from slices, by one fsync; throws where the disk fails. True: the sandbox holds nothing else. */
async function releaseSliced(
  parts: DaemonContext,
  invocation: AttachmentInvocation,
  loaded: LoadedConfig | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const own = parts.sliced.ofAttachment(invocation);
  if (own.length === 0) return false;
  const cooldownMs = loaded?.config.cooldownMs ?? parts.cooldownMs;
  for (const entry of own) await parts.releases.free(entry, { attachment: invocation, cooldownMs, signal });
  const isAll = parts.mayRelease() || own.length >= (loaded?.config.ranges.length ?? Number.POSITIVE_INFINITY);
  const isMore = parts.held.ofAttachment(invocation).length > 0 || parts.intents.get(invocation) !== undefined;
  if (!isAll || isMore) return false;
  parts.gone.set(attachmentKey(invocation), true);
  const { containerId, interfaceName } = invocation;
  parts.log.info("released", { pod: podText(invocation), containerId, interfaceName, freed: own.length });
  return true;
}

function intentOf(parts: DaemonContext, invocation: AttachmentInvocation, loaded: LoadedConfig | undefined): Intent {
  const { containerId, interfaceName } = invocation;
  return {
    containerId,
    interfaceName,
    targets: [],
    pools: loaded === undefined ? [] : poolsToSearch(parts, loaded),
    cooldownMs: loaded?.config.cooldownMs ?? parts.cooldownMs,
    sinceMs: parts.clock.wallMs(),
  };
}

/** Where whereabouts may have recorded the sandbox. It knows one namespace; pools in those of definitions are ours alone. */
function poolsToSearch({ poolNamespace: namespace }: DaemonContext, { config }: LoadedConfig): IntentPool[] {
  if (config.poolNamespace !== "cluster") return [];
  return poolsOf(config, namespace).map(({ identity, naming, protectsOverlaps }) => ({
    namespace,
    network: identity.network,
    range: String(identity.range),
    naming,
    protectsOverlaps,
  }));
}

function podText({ args }: AttachmentInvocation): string {
  return `${args.podNamespace}/${args.podName}`;
}
