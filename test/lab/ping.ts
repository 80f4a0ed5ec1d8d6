// Whether a pod reaches an address.
import type { Cluster } from "./cluster.ts";
import { until } from "./wait.ts";

/** From inside a pod, through the interface. One that is lost says little: a neighbour is looked up first, and an IPv6 address is tried out for seconds. */
export async function ping(lab: Cluster, from: string, port: string, address: string): Promise<void> {
  const argv = ["exec", from, "--", "ping", "-c", "1", "-W", "3", "-I", port, address];
  await until(() => lab.kubectl(argv), { what: `${address} to answer ${from} on ${port}` });
}
