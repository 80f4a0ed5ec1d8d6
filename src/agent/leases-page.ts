// /leases: every binding that is served, and what its client did last; and what is not served, with the reason. JSON.
import type { Findings } from "./compile/finding.ts";
import type { NetworkAgent } from "./network-agent.ts";

export function leasesPage(networks: Iterable<NetworkAgent>, findings: Findings) {
  const shown = Array.from(networks, (network) => ({
    network: network.name,
    pools: Array.from(network.served.pools, ({ name, serverIdentifier, leaseSeconds }) => ({
      pool: name,
      server: serverIdentifier.toString(),
      answersHere: network.isHolder(name),
      leaseSeconds,
    })),
    bindings: Array.from(network.served.bindings, ({ definition, mac, hold, quarantine, address }) => {
      const lease = network.leases.get(address, mac);
      return {
        address: definition.address.toString(),
        mac,
        pool: definition.pool,
        hostName: definition.hostName,
        ...(hold !== undefined && { owner: `${hold.owner.namespace}/${hold.owner.name}` }),
        ...(lease !== undefined && {
          lastSeen: timeOf(lease.atMs),
          leasedUntil: lease.untilMs === undefined ? "released" : timeOf(lease.untilMs),
        }),
        ...(quarantine !== undefined && { quarantinedUntil: timeOf(quarantine.untilMs) }),
      };
    }),
  }));
  const text = JSON.stringify({ networks: shown, findings: findings.all() }, undefined, 2);
  return { text: `${text}\n`, contentType: "application/json" };
}

function timeOf(ms: number): string {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : "never";
}
