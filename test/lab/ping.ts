// Whether a pod reaches an address.
import type { Cluster } from "./cluster.ts";
import { until } from "./wait.ts";

/** From a pod's interface. A lost one says little: neighbours are looked up first, IPv6 addresses tried for seconds. */
export async function ping(lab: Cluster, from: string, port: string, address: string): Promise<void> {
  const argv = ["exec", from, "--", "ping", "-c", "1", "-W", "3", "-I", port, address];
  await until(() => lab.kubectl(argv), { what: `${address} to answer ${from} on ${port}` });
}
