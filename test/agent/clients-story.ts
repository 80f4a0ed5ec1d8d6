// What stories of clients and agents begin with, and what they come back to.
import { expect } from "vitest";

import { until } from "../lab/wait.ts";
import type { Client, ClientsLab } from "./clients-lab.ts";

export const hosts = ["vm0", "vm1", "vm2", "vm3"];
export const addressOf = (host: string) => `192.168.48.8${host.at(-1)}`;
export const timeout = 240_000;

/** Agents `a`, which answers at the server's address, and `b`. */
export async function twoAgents(lab: ClientsLab) {
  const a = lab.agent("a");
  await a.says("answering at the server's address");
  const b = lab.agent("b");
  await until(async () => (await b.page("/readyz")).endsWith("\nok\n"), { what: "b to be ready" });
  return { a, b };
}

export async function bind(lab: ClientsLab, host: string): Promise<void> {
  await lab.fixture.bind(addressOf(host), await lab.mac(host), host);
}

export async function expectKept(all: readonly Client[]): Promise<void> {
  for (const client of all) {
    expect([client.kind, await client.addresses(), client.losses]).toEqual([client.kind, [addressOf(client.host)], []]);
  }
}
