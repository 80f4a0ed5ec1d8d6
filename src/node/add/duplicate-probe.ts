// Takes an address that nobody on the wire uses: with `probe: true` the network is asked before the answer. An address
// that somebody answers for goes back with a long rest, the pod's event names the MAC, and the next one is tried.
import { CniError, errorCodes } from "../../cni/error.ts";
import type { OwnerKey } from "../../ipam/owner.ts";
import { attachmentOf } from "../holds/hold-index.ts";
import { rollBack } from "../release/rollback.ts";
import type { Addition } from "./add.ts";
import type { Share } from "./shares.ts";
import { take, type Taken } from "./take.ts";

/** Eight in a row on the wire without a record: the range belongs to somebody else, and trying on would not help. */
const triesMax = 8;
/** Long enough that someone looks into it; the address comes back by itself when the stranger is gone. */
const conflictRestMs = 3600_000;
/** Three requests within 200 ms, as RFC 5227 in a hurry: every pod's start waits for it. */
const probeMs = 200;

export async function takeProbed(addition: Addition, share: Share): Promise<Taken> {
  const { parts, loaded, asking, look, signal } = addition;
  const { lookFirst, keeper, claim } = asking;
  const onLost = () => look.lost();
  const order = { share, network: loaded.config.name, lookFirst, keeper, claim, onLost, signal };
  for (let tries = 1; ; tries++) {
    const taken = await take(parts.sources, order);
    // The owner itself may answer for an address that it had before.
    const isProbed = loaded.config.probe && taken.isNew;
    const stranger = isProbed ? await askedAndRejected(addition, taken) : undefined;
    if (stranger === undefined) {
      if (taken.early) tellEarly(addition, taken);
      return taken;
    }
    if (tries === triesMax || share.want.kind === "given") throw refused(taken, stranger, tries);
  }
}

async function askedAndRejected(addition: Addition, taken: Taken): Promise<string | undefined> {
  try {
    const stranger = await strangerAt(addition, taken);
    if (stranger !== undefined) await reject(addition, taken, stranger);
    return stranger;
  } catch (error) {
    await rollBack(addition, { taken: [taken] });
    throw error;
  }
}

/** The MAC that answers; undefined where none does, or nobody could be asked: a probe is a help, not an arbiter. */
async function strangerAt({ parts, invocation, signal }: Addition, { hold }: Taken): Promise<string | undefined> {
  const { netns, interfaceName } = invocation;
  try {
    const { address } = hold;
    const answer = await parts.probe({ netns, interface: interfaceName, address, timeoutMs: probeMs, signal });
    return answer.duplicate ? answer.mac : undefined;
  } catch (error) {
    signal.throwIfAborted();
    parts.log.warn("the address could not be probed; it is given without", { address: String(hold.address), error });
    return undefined;
  }
}

async function reject(addition: Addition, taken: Taken, mac: string): Promise<void> {
  const { parts, pod, invocation, signal } = addition;
  const { hold } = taken;
  const words = `${hold.address} is in use by ${mac}, which no record knows: it is left out for an hour. Find the host, or exclude the address.`;
  parts.log.warn(words, { network: hold.domain });
  if (pod !== undefined) parts.tell(pod.object, "Warning", "AddressConflict", `${invocation.interfaceName}: ${words}`);
  const attachment = attachmentOf(hold) ?? invocation;
  // Nobody may have it back early, not even the owner, which never used it.
  const lastOwner = "conflict" as OwnerKey;
  await parts.releases.free(taken, { attachment, cooldownMs: conflictRestMs, signal, lastOwner });
}

function refused({ hold }: Taken, mac: string, tries: number): CniError {
  return new CniError(
    errorCodes.refused,
    `${hold.address} is in use by ${mac} on the network, though no record has it (${tries} tried): find the host, or exclude what it uses.`,
  );
}

/** Tells the pod: the only sign that a range is too small before it is full. */
function tellEarly({ parts, pod, invocation }: Addition, { hold }: Taken): void {
  if (pod === undefined) return;
  const words = `${invocation.interfaceName} got ${hold.address} before its rest was over: its range has nothing else left. Widen it.`;
  parts.tell(pod.object, "Normal", "AddressGivenEarly", words);
}
