// A writer of the northbound database of a central, as long as a test needs it.
import { Northbound, northboundTables } from "../../src/ovn/northbound.ts";
import { ovnNorthbound } from "../../src/ovsdb/schema/ovn-northbound.ts";
import { OvsdbClient } from "../../src/ovsdb/session/client.ts";
import type { ClientOptions } from "../../src/ovsdb/session/options.ts";
import type { Central } from "./central.ts";

export interface Writer extends AsyncDisposable {
  readonly client: OvsdbClient;
  readonly northbound: Northbound;
}

export async function writerOf(central: Central, options: Partial<ClientOptions> = {}): Promise<Writer> {
  const stop = new AbortController();
  const client = new OvsdbClient({
    database: ovnNorthbound,
    followed: northboundTables,
    endpoints: central.unix,
    firstBackoffMs: 20,
    maxBackoffMs: 200,
    ...options,
  });
  const running = client.run(stop.signal);
  await client.until(() => client.hasSynced || undefined, AbortSignal.timeout(30_000));
  return {
    client,
    northbound: new Northbound(client),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
