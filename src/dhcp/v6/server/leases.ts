// What the IAs of a message get (RFC 8415 sections 18.3.2, 18.3.4, 18.3.5 and 18.3.9). A client has one address per
// network, in one IA; other IAs are told that there is nothing for them.
import { contains } from "../../../net/prefix.ts";
import { addressFrom, isSame } from "../bytes.ts";
import { statusCode } from "../options/codes.ts";
import { addressOption, endedLease, type Ia, iaOption } from "../options/ia.ts";
import { type RawOptionV6, statusOption } from "../options/option.ts";
import { isQuarantined, type QuestionV6 } from "./question.ts";

export interface Leases {
  /** One for each IA of the message, in its order. */
  readonly options: readonly RawOptionV6[];
  /** Whether the client has the binding's address by this. */
  readonly isGranted: boolean;
}

export function isOwn({ binding }: QuestionV6, lease: Uint8Array): boolean {
  return isSame(lease, binding.bytes);
}

/** The IA that the address is in, or goes into: the one that names it, else the first that asks for an address. */
export function ownIa(question: QuestionV6): Ia | undefined {
  const ias = question.message.ias.filter(({ kind }) => kind === "addresses");
  return ias.find(({ leases }) => leases.some((lease) => isOwn(question, lease))) ?? ias[0];
}

/** SOLICIT and REQUEST: the binding's address, whichever the client hints at. */
export function newLeases(question: QuestionV6, options: { readonly refuseOffLink: boolean }): Leases {
  const own = ownIa(question);
  let isGranted = false;
  const answers = question.message.ias.map((ia) => {
    if (ia !== own) return nothingFor(ia);
    // A REQUEST with an address of another link: the client has moved, and is to begin again (section 18.3.2).
    const isOffLink = ia.leases.some((lease) => !contains(question.pool.subnet, addressFrom(lease)));
    if (options.refuseOffLink && isOffLink) return iaOption(ia, [statusOption(statusCode.notOnLink)]);
    if (isQuarantined(question)) return nothingFor(ia);
    isGranted = true;
    return grant(question, ia, []);
  });
  return { options: answers, isGranted };
}

/**
 * RENEW and REBIND: the binding's address again. A wrong one ends at once, and the right one comes with it, so that a
 * client whose binding has changed needs no second exchange. A client that has its address keeps it in quarantine too.
 */
export function renewedLeases(question: QuestionV6, options: { readonly isRebind: boolean }): Leases {
  const own = ownIa(question);
  let isGranted = false;
  const answers = question.message.ias.map((ia) => {
    if (ia !== own) return otherIa(ia, options.isRebind);
    const wrong = ia.leases.filter((lease) => !isOwn(question, lease));
    const ended = wrong.map((lease) => endedLease(ia, lease));
    const hasIt = wrong.length < ia.leases.length;
    if (!hasIt && isQuarantined(question)) return ended.length > 0 ? iaOption(ia, ended) : nothingFor(ia);
    isGranted = true;
    return grant(question, ia, ended);
  });
  return { options: answers, isGranted };
}

function grant({ pool, binding }: QuestionV6, ia: Ia, before: readonly RawOptionV6[]): RawOptionV6 {
  return iaOption(ia, [...before, addressOption(binding.bytes, pool.lifetimes)], pool.times);
}

/** RENEW is to us, who never gave those leases. REBIND may be of another server's; they are not of this network. */
function otherIa(ia: Ia, isRebind: boolean): RawOptionV6 {
  if (ia.leases.length === 0) return nothingFor(ia);
  if (!isRebind) return iaOption(ia, [statusOption(statusCode.noBinding)]);
  return iaOption(
    ia,
    ia.leases.map((lease) => endedLease(ia, lease)),
  );
}

function nothingFor(ia: Ia): RawOptionV6 {
  const status = ia.kind === "prefixes" ? statusCode.noPrefixAvailable : statusCode.noAddressesAvailable;
  return iaOption(ia, [statusOption(status)]);
}
