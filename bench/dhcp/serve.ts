// Our server as a process of its own, for the benchmark: one wire on eth0 of the namespace it is started in. Says
// "ready" when it answers, and its counters when it is told to stop.
import { openWire } from "../../src/dhcp/socket/open.ts";
import { parseAddress, type V4Address } from "../../src/net/address.ts";
import { parseMac } from "../../src/net/mac.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { dnsServer, leaseSeconds, reservations, router, serverAddress, subnet } from "./plan.ts";

const network = "bench";
const pool = "bench/pool";
const ip = (text: string) => parseAddress(text) as V4Address;

const isUp = Promise.withResolvers<void>();
const handler = {
  effects: () => {},
  link: ({ state }: { readonly state: string }) => state === "up" && isUp.resolve(),
  contested: () => {},
  lost: (error: Error) => {
    throw error;
  },
};
// `udp`: through the kernel's UDP socket, on an address that the interface has. Else by frames, and ARP is ours too.
const isUdp = process.argv[2] === "udp";
// `prime`: nothing but what V8 makes of the sources, for the runs that follow, as ./holdfast keeps it.
if (process.argv[2] === "prime") {
  const wire = await openWire({ handler });
  await wire.close();
  process.exit(0);
}
const wire = await openWire({
  handler,
  // A client of the benchmark asks several times a second; ours may ask 4 times.
  rateLimit: { burst: 10_000, perSecond: 10_000, clientsMax: 32_768 },
  ...(isUdp && { relay: { address: ip(serverAddress) } }),
});
wire.setPool(network, {
  name: pool,
  subnet: parsePrefix(subnet),
  serverIdentifier: ip(serverAddress),
  leaseSeconds,
  routers: [ip(router)],
  dnsServers: [ip(dnsServer)],
});
wire.replaceBindings(
  network,
  reservations().map(({ mac, address }) => ({ address: ip(address), pool, mac: parseMac(mac) })),
);
if (!isUdp) {
  wire.setLink({ network, interface: "eth0", acceptRelays: true });
  await isUp.promise;
  wire.answerFor(network, ip(serverAddress), true);
}
await wire.counters();
console.log("ready");
process.once("SIGTERM", () => {
  void (async () => {
    const { networks, sockets } = await wire.counters();
    console.log(
      JSON.stringify({
        networks: [...networks].map(([name, each]) => [
          name,
          [...each.pools.values()].flatMap(({ silences }) => [...silences]),
        ]),
        sockets: [...sockets],
      }),
    );
    await wire.close();
  })();
});
