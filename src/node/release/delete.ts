// DEL: all holds of one sandbox on one interface are given back, or the intent to do so is on the disk. It works with
// whatever it is given, and succeeds on what is gone. A sandbox that a later one has replaced frees nothing.
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { deadline } from "../../kube/clock.ts";
import { poolsOf } from "../add/shares.ts";
import type { CniRequest, DaemonContext } from "../context.ts";
import { attachmentKey } from "../request/attachment.ts";
import { configIn, type LoadedConfig } from "../request/configurations.ts";
import { type Intent, type IntentPool, joinIntents } from "./intents.ts";

/** The API server answers in milliseconds or is in trouble: then an intent is recorded, and the pod's end goes on. */
const patienceMs = 15_000;
/** A started daemon learns its node's holds within moments, if it can. */
const startMs = 3000;

/** `isKept`: the runtime has its answer already, so an intent is enough, and nobody waits for the API server. */
export async function del(parts: DaemonContext, request: CniRequest, isKept = false): Promise<void> {
  const { invocation, text, signal } = request;
  const { containerId, interfaceName, args } = invocation;
  const about = { pod: `${args.podNamespace}/${args.podName}`, containerId, interfaceName };
  if (containerId === "" || interfaceName === "") {
    const words = "a DEL does not say which interface of which container it is about: nothing is freed by it";
    return parts.log.warn(words, { pod: about.pod });
  }
  const loaded = await configIn(parts, "DEL", text);
  const isKnown = () => parts.held.ofAttachment(invocation).length > 0 || parts.intents.get(invocation) !== undefined;
  await parts.attachments.delete(invocation, signal, async () => {
    // Its port still has the addresses: they are given back when it has gone.
    if (parts.ovn !== undefined && !(await parts.ovn.attacher.detach(invocation, signal))) return;
    await parts.sandboxes.forget(invocation);
    const intent = intentOf(parts, invocation, loaded);
    const wasKnown = isKnown();
    // Of slices: by one fsync; throws where the disk fails.
    const own = parts.sliced.ofAttachment(intent);
    const { cooldownMs } = intent;
    for (const entry of own) await parts.releases.free(entry, { attachment: intent, cooldownMs, signal });
    const freedHere = own.length;
    // Where releases may be written, all holds are known; else the number of ranges says it.
    const isAll = parts.readiness.mayRelease || freedHere >= (loaded?.config.ranges.length ?? Number.POSITIVE_INFINITY);
    if (freedHere > 0 && isAll && !isKnown()) {
      parts.gone.set(attachmentKey(invocation), true);
      return parts.log.info("released", { ...about, freed: freedHere });
    }
    if (parts.gone.get(attachmentKey(invocation)) !== undefined && !wasKnown) return;
    try {
      if (isKept) throw new Error("the plugin kept it while no daemon answered");
      using start = deadline(parts.clock, startMs, signal);
      if (!parts.readiness.mayRelease) await parts.readiness.assertKnown(start.signal);
      if (!parts.readiness.mayRelease) throw new Error("handing out is paused, and so are releases");
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

/** Where whereabouts may have recorded the sandbox. It knows one namespace; pools in definitions' are ours alone. */
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
