// Pools and network configs for tests of the rules.
import type { PoolPlan } from "../pool-plan.ts";
import type { NetworkConfigReading } from "../read-network-config.ts";
import { readNetworkConfig } from "../read-network-config.ts";
import { type PoolObject, readPool } from "../read-pool.ts";

export interface Named {
  readonly namespace?: string;
  readonly name?: string;
  readonly createdAt?: string;
  readonly [field: string]: unknown;
}

/** `tenant-a/pool-48` on `tenant-a/net-48`, unless `more` says otherwise. */
export function poolObject(ipv4Config: object, more: Named = {}): PoolObject {
  const { namespace = "tenant-a", name = "pool-48", createdAt = "2026-01-01T00:00:00Z", ...spec } = more;
  const metadata = { namespace, name, uid: `uid-of-${name}`, creationTimestamp: createdAt };
  return { metadata, spec: { networkName: "tenant-a/net-48", ...spec, ipv4Config } };
}

export function planned(ipv4Config: object, more: Named = {}): PoolPlan {
  const { plan, issues } = readPool(poolObject(ipv4Config, more));
  if (plan === undefined) throw new Error(JSON.stringify(issues));
  return plan;
}

interface Nic {
  readonly networkName?: unknown;
  readonly macAddress?: unknown;
  readonly ipAddress?: unknown;
  readonly ipv6Address?: unknown;
}

/** `tenant-a/vm-a`, unless `more` says otherwise. */
export function configOf(nics: readonly Nic[], more: Named = {}): NetworkConfigReading {
  const { namespace = "tenant-a", name = "vm-a", createdAt = "2026-01-01T00:00:00Z", ...spec } = more;
  const metadata = { namespace, name, uid: `uid-of-${name}`, creationTimestamp: createdAt };
  return readNetworkConfig({ metadata, spec: { vmName: name, networkConfigs: nics, ...spec } });
}
