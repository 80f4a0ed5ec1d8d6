// RELEASE and DECLINE (RFC 2131 sections 4.3.3 and 4.3.4) are recorded, not answered. Neither frees an address: a VM's
// binding lives as long as its owner says.
import { code } from "../options/codes.ts";
import { decodeOption } from "../options/convert.ts";
import { type Outcome, silence } from "./outcome.ts";
import { aboutClient, type Question } from "./question.ts";

/** Without a server identifier it is taken as well: the address says enough. */
export function recordRelease(question: Question): Outcome {
  const { message, binding, nowMs } = question;
  if (isForAnother(question)) return silence("other-server");
  if (message.ciaddr !== binding.address) return silence("not-its-address");
  return { ...silence("recorded"), effects: [{ kind: "released", atMs: nowMs, ...aboutClient(question) }] };
}

/**
 * Only the client that the address is bound to can decline it: nobody puts the address of another into quarantine.
 * systemd-networkd 252 names it in ciaddr, where RFC 2131 wants a zero, and no server.
 */
export function recordDecline(question: Question): Outcome {
  const { message, binding, pool, nowMs } = question;
  if (isForAnother(question)) return silence("other-server");
  const declined = message.options.uint(code.requestedAddress, 4) ?? message.ciaddr;
  if (declined !== binding.address) return silence("not-its-address");
  const about = aboutClient(question);
  return {
    ...silence("recorded"),
    effects: [
      { kind: "quarantined", untilMs: nowMs + pool.quarantineMs, ...about },
      { kind: "conflict", note: noteOf(question), ...about },
    ],
  };
}

function isForAnother({ message, network }: Question): boolean {
  const server = message.options.uint(code.serverIdentifier, 4);
  return server !== undefined && !network.isServer(server);
}

function noteOf({ message }: Question): string | undefined {
  const bytes = message.options.get(code.message);
  const value = bytes === undefined ? undefined : decodeOption(code.message, bytes);
  return value?.kind === "text" ? value.value : undefined;
}
