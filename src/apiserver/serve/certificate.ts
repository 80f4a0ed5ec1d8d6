// The certificate of the addresses the server listens on, so that clients verify whom they speak to. Its authority is
// made for it alone, and the authority's key is thrown away. It lives as long as the database.
import { makeAuthority, makeServerCertificate } from "../../kube/admission/certificate.ts";

export interface ServerCertificate {
  /** PEM of the authority: what clients trust. */
  readonly authority: string;
  /** PEM of the server's own certificate, and its key. */
  readonly cert: string;
  readonly key: string;
}

const dayMs = 86_400_000;
/** The key never leaves the database; a new one is made with a new database. A day back, for clocks that lag. */
const validityMs = 3650 * dayMs;

export function certify(hosts: readonly string[], nowMs: number): ServerCertificate {
  const validity = { notBeforeMs: nowMs - dayMs, notAfterMs: nowMs + validityMs };
  const authority = makeAuthority("holdfast-api", validity);
  return { authority: authority.cert, ...makeServerCertificate(authority, hosts, validity) };
}
