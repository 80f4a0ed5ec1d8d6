// The life of a webhook's certificate: what to hold now, given what was held. Pure; webhook-certificate.ts applies it.
//
// A new authority is in the bundle for a while before it signs anything, so that every API server trusts it by then;
// the old one stays until it expires. So API servers trust at any moment the certificate that is served.
import { isIssuedBy, type KeyPair, makeAuthority, makeServerCertificate, validityOf } from "./certificate.ts";

export interface ServingMaterial {
  /** Newest first; never empty. */
  readonly authorities: readonly KeyPair[];
  readonly serving: KeyPair;
  /** The names that the serving certificate is for. */
  readonly names: readonly string[];
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const authorityLifeMs = 365 * dayMs;
const servingLifeMs = 90 * dayMs;
/** Clocks of different machines differ. */
const backdateMs = hourMs;
/** API servers notice a changed webhook configuration within seconds; a day covers an outage of the controller. */
const trustMs = dayMs;

export function caBundle({ authorities }: ServingMaterial): string {
  return authorities.map(({ cert }) => cert).join("");
}

/** The material for this moment: the same value if nothing is due. */
export function renewed(before: ServingMaterial | undefined, names: readonly string[], nowMs: number): ServingMaterial {
  const kept = (before?.authorities ?? []).filter((authority) => isValid(authority, nowMs));
  const newest = kept[0];
  const authorities = newest === undefined || isDue(newest, nowMs) ? [newAuthority(nowMs), ...kept] : kept;
  const fitting = before !== undefined && sameNames(before.names, names) && isSigned(before.serving, authorities);
  if (fitting && isValid(before.serving, nowMs) && !isDue(before.serving, nowMs)) {
    return authorities === kept && kept.length === before.authorities.length ? before : { ...before, authorities };
  }
  const life = { notBeforeMs: nowMs - backdateMs, notAfterMs: nowMs + servingLifeMs };
  return { authorities, names, serving: makeServerCertificate(signer(authorities, nowMs), names, life) };
}

/** The newest authority that has been published long enough; the oldest of all if none has. */
function signer(authorities: readonly KeyPair[], nowMs: number): KeyPair {
  const trusted = authorities.find(({ cert }) => validityOf(cert).notBeforeMs + backdateMs + trustMs <= nowMs);
  return trusted ?? authorities.at(-1)!;
}

/** Not before its time either: a clock that was ahead for a moment must not leave behind what nobody trusts yet. */
function isValid({ cert }: KeyPair, nowMs: number): boolean {
  const { notBeforeMs, notAfterMs } = validityOf(cert);
  return notBeforeMs <= nowMs && nowMs < notAfterMs;
}

/** Two thirds of the life are over. */
function isDue({ cert }: KeyPair, nowMs: number): boolean {
  const { notBeforeMs, notAfterMs } = validityOf(cert);
  return nowMs >= notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3;
}

function isSigned(serving: KeyPair, authorities: readonly KeyPair[]): boolean {
  return authorities.some(({ cert }) => isIssuedBy(serving.cert, cert));
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return [...a].sort().join() === [...b].sort().join();
}

function newAuthority(nowMs: number): KeyPair {
  const name = `holdfast webhook ${new Date(nowMs).toISOString()}`;
  return makeAuthority(name, { notBeforeMs: nowMs - backdateMs, notAfterMs: nowMs + authorityLifeMs });
}
