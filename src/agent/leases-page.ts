// /leases: every binding that is served, and what its client did last; and what is not served, with the reason. JSON.
import type { BindingRecord, BindingRecordV6 } from "./binding-records.ts";
import type { Findings } from "./compile/finding.ts";
import type { NetworkAgent } from "./network-agent.ts";

export function leasesPage(networks: Iterable<NetworkAgent>, findings: Findings) {
  const shown = Array.from(networks, (network) => ({
    network: network.name,
    pools: Array.from(network.served.pools, ({ name, serverIdentifier, leaseSeconds }) => {
      const v6 = network.served.poolV6(name);
      return {
        pool: name,
        server: serverIdentifier.toString(),
        answersHere: network.isHolder(name),
        leaseSeconds,
        ...(v6 !== undefined && {
          ipv6: {
            subnet: v6.subnet.toString(),
            server: v6.serverAddress?.toString(),
            leaseSeconds: v6.leaseSeconds,
            advertises: v6.advertise ?? true,
            router: v6.router?.toString(),
            advertisementsSent: network.v6.advertised(name),
          },
        }),
      };
    }),
    bindings: Array.from([...network.served.v4.told, ...network.served.v6.told], (each) => shownBinding(network, each)),
  }));
  const text = JSON.stringify({ networks: shown, findings: findings.all() }, undefined, 2);
  return { text: `${text}\n`, contentType: "application/json" };
}

function shownBinding(network: NetworkAgent, record: BindingRecord | BindingRecordV6) {
  const { definition, mac, hold, quarantine, address } = record;
  const lease = network.leases.get(address, mac);
  return {
    address: definition.address.toString(),
    mac,
    pool: definition.pool,
    ...("hostName" in definition && { hostName: definition.hostName }),
    ...(hold !== undefined && { owner: `${hold.owner.namespace}/${hold.owner.name}` }),
    ...(lease !== undefined && {
      lastSeen: timeOf(lease.atMs),
      leasedUntil: lease.untilMs === undefined ? "released" : timeOf(lease.untilMs),
    }),
    ...(quarantine !== undefined && { quarantinedUntil: timeOf(quarantine.untilMs) }),
  };
}

function timeOf(ms: number): string {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : "never";
}
