// A receipt as words for an event, and as the text of an annotation on the target's pod, where it lasts as long as the
// pod does. Pure.
import { timestamp } from "../../kube/clock.ts";
import type { Receipt, Step } from "./receipt.ts";

export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly words: string;
}

const reasons = {
  succeeded: "AddressMoved",
  "failed-before-ready": "MigrationFailed",
  "failed-after-ready": "AddressMovedBack",
  "vm-stopped": "MigrationEnded",
} as const;

/** Of a receipt that is over. `addresses`: the VM's. */
export function eventOf(receipt: Receipt, addresses: readonly string[]): EventText {
  const { end = "vm-stopped", source, target } = receipt;
  const what = addresses.length === 0 ? "The VM" : addresses.join(" and ");
  const from = source === undefined ? "" : ` from ${source.node}`;
  const back = source?.node ?? "the source";
  const sentences = {
    succeeded: `${what} moved${from} to ${target.node}${switchWords(receipt)}.`,
    "failed-before-ready": `The migration to ${target.node} failed; ${what} stayed on ${back}.`,
    "failed-after-ready": `The migration to ${target.node} failed after the guest ran there; ${what} is on ${back} again.`,
    "vm-stopped": `The VM ended while it was migrated to ${target.node}.`,
  } as const;
  const isFailure = end === "failed-before-ready" || end === "failed-after-ready";
  const words = `${sentences[end]}${wrongSign(receipt)}${gapWords(receipt)}`;
  return { type: isFailure ? "Warning" : "Normal", reason: reasons[end], words };
}

function switchWords({ steps, isWhole }: Receipt): string {
  const switched = steps.findLast((each) => each.step === "switched") as Extract<Step, { tookMs: number }> | undefined;
  if (switched === undefined) return "";
  const by = switched.trigger === undefined ? "" : `, told by ${triggerWords[switched.trigger]}`;
  const when = `${isWhole ? "" : "by "}${timestamp(switched.atMs)}`;
  return ` at ${when}${by}`.replace(" at by ", " by ");
}

const triggerWords = {
  "node-label": "the pod's label",
  "ready-timestamp": "KubeVirt's timestamp",
  "early-sign": "the guest's first frame",
  "only-one-left": "the end of the source",
} as const;

function wrongSign({ steps, end }: Receipt): string {
  const isWrong = end !== "failed-after-ready" && steps.some(({ step }) => step === "switched-back");
  return isWrong ? " In between a sign that the guest had moved was wrong, and was taken back." : "";
}

function gapWords({ gapMs }: Receipt): string {
  return gapMs === undefined ? "" : ` The longest silence was ${Math.round(gapMs)} ms.`;
}

/** JSON, a step a line short enough to be read with kubectl: under 1 KB. */
export function receiptText({ source, target, steps, end, isWhole, gapMs }: Receipt): string {
  const at = (ms: number) => new Date(ms).toISOString();
  const told = steps.map(({ atMs, ...each }) => ({ ...each, at: at(atMs) }));
  const from = source && { node: source.node, pod: source.pod };
  return JSON.stringify({ end, from, to: { node: target.node, pod: target.pod }, isWhole, gapMs, steps: told });
}
