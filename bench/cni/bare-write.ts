// The floor under an ADD: the one write it makes, by the same client and account, with nothing around it.
import { reservations } from "../../src/cluster/resources.ts";
import type { Access } from "../../test/lab/rest.ts";
import type { BenchPod } from "./attachment.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { lowestOf, objectOf } from "./held.ts";
import { connectAs, systemNamespace } from "./lab.ts";

/** One create after another; the objects are removed again. */
export async function bareWrites(access: Access, pods: readonly BenchPod[], range: string): Promise<Figures> {
  await using connection = connectAs(access, "bench-bare-write");
  const network = "bare";
  const addresses = lowestOf(range, pods.length);
  const tookMs: number[] = [];
  for (const [index, address] of addresses.entries()) {
    const object = objectOf(network, address, pods[index]!, `${systemNamespace}/none`);
    const startedMs = performance.now();
    await connection.client.create(reservations, object);
    tookMs.push(performance.now() - startedMs);
  }
  for (const address of addresses) {
    await connection.client.delete(reservations, { namespace: systemNamespace, name: `${network}-${address}` });
  }
  return figuresOf(
    tookMs,
    tookMs.reduce((sum, ms) => sum + ms, 0),
  );
}
