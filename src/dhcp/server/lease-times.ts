// Lease time, T1 and T2 (RFC 2131 section 4.4.5; RFC 2132 sections 9.2, 9.11, 9.12).
import type { RawOption } from "../message/placement.ts";
import { uintBytes } from "../options/bytes.ts";
import { code } from "../options/codes.ts";

/** A lease that never ends (RFC 2131 section 3.3). It has no T1 and no T2: the client never asks again. */
export const infiniteSeconds = 0xffff_ffff;

/** Half of the lease, and seven eighths: 0 < T1 < T2 < lease from 3 seconds on. */
export function leaseOptions(leaseSeconds: number): readonly RawOption[] {
  const lease = { code: code.leaseTime, data: uintBytes(leaseSeconds, 4) };
  if (leaseSeconds === infiniteSeconds) return [lease];
  return [
    lease,
    { code: code.renewalTime, data: uintBytes(Math.floor(leaseSeconds / 2), 4) },
    { code: code.rebindingTime, data: uintBytes(Math.floor((leaseSeconds * 7) / 8), 4) },
  ];
}
