// Which messages a server must discard, whoever sends them (RFC 8415 section 16, one row for each of its parts).
import type { MessageV6 } from "../message/decode.ts";
import { messageTypeV6 as type } from "../message/message-type.ts";
import { codeV6 } from "../options/codes.ts";
import { type SilenceReasonV6, type SilenceV6, silenceV6 } from "./outcome.ts";

type Presence = "must" | "must not" | "may";

interface Rule {
  readonly client: Presence;
  readonly server: Presence;
  /** A Server Unicast option, which we never send, would allow it for some; others must never do so. */
  readonly unicast: "discarded" | "answered with UseMulticast";
  readonly ias: "may" | "must not";
}

const toAny = { client: "must", server: "must not", unicast: "discarded", ias: "may" } as const;
const toOne = { client: "must", server: "must", unicast: "answered with UseMulticast", ias: "may" } as const;

/** Key: the message's type. Whose server identifier it is comes later. */
const rules = new Map<number, Rule>([
  [type.solicit, toAny],
  [type.request, toOne],
  [type.confirm, toAny],
  [type.renew, toOne],
  [type.rebind, toAny],
  [type.decline, toOne],
  [type.release, toOne],
  [type.informationRequest, { client: "may", server: "may", unicast: "discarded", ias: "must not" }],
]);

const ofServers: ReadonlySet<number> = new Set([type.advertise, type.reply, type.reconfigure, type.relayReply]);

/** Undefined: it may be answered. `isUnicast`: it came to an address of ours, and not through a relay. */
export function refuseV6(message: MessageV6, isUnicast: boolean): SilenceV6 | undefined {
  const reason = reasonOf(message, isUnicast);
  return reason === undefined ? undefined : silenceV6(reason);
}

function reasonOf({ type: of, options, ias }: MessageV6, isUnicast: boolean): SilenceReasonV6 | undefined {
  const rule = rules.get(of);
  if (rule === undefined) return ofServers.has(of) ? "not-a-request" : "unsupported-type";
  if (isUnicast && rule.unicast === "discarded") return "unicast";
  if (rule.client === "must" && !options.has(codeV6.clientIdentifier)) return "no-client-identifier";
  const hasServer = options.has(codeV6.serverIdentifier);
  if (rule.server === "must" && !hasServer) return "no-server-identifier";
  if (rule.server === "must not" && hasServer) return "unexpected-server-identifier";
  return rule.ias === "must not" && ias.length > 0 ? "unexpected-ia" : undefined;
}
