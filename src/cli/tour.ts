// `holdfast tour`: the promises of the allocation core, shown on a small network in memory, in a second. No cluster.
import { Command } from "commander";

import { acquire } from "../ipam/acquire.ts";
import { MemoryLedger, MemoryStore } from "../ipam/memory-ledger.ts";
import type { Owner } from "../ipam/owner.ts";
import { Pool } from "../ipam/pool.ts";
import { release } from "../ipam/release.ts";
import { parseAddress } from "../net/address.ts";
import { parseBlock } from "../net/interval.ts";
import { parseCidr } from "../net/prefix.ts";
import type { Output } from "./program.ts";

const domain = "example";
const cooldownMs = 30_000;

export function tourCommand(output: Output): Command {
  return new Command("tour")
    .description(
      "Show on a small network in memory how an address is taken, kept, released and refused. Needs no cluster.",
    )
    .action(() => tour(output));
}

async function tour(output: Output): Promise<void> {
  let nowMs = Date.now();
  const now = () => nowMs;
  const ledger = new MemoryLedger(new MemoryStore(), { now });
  const prefix = parseCidr("10.77.0.0/29").prefix;
  const definition = { prefix, gateway: parseAddress("10.77.0.1"), excludes: [parseBlock("10.77.0.4")], cooldownMs };
  const pool = new Pool(definition, now);

  const get = async (owner: Owner) => {
    const result = await acquire({ ledger, domain, pool, request: { owner }, random: Math.random });
    return result.kind === "acquired"
      ? `${result.hold.address}${result.early ? " (given early)" : ""}`
      : `refused: ${result.message}`;
  };
  const free = (owner: Owner) => release({ ledger, domain, pool, owner });

  output.line(
    `example network ${prefix}: the gateway is 10.77.0.1, 10.77.0.4 is excluded, released addresses rest ${cooldownMs / 1000} s`,
  );
  output.line(`  web-0 starts              ${await get(pod("web-0", "a"))}`);
  output.line(`  vm-1 starts               ${await get(pod("vm-1", "b"))}`);
  output.line(`  web-0's sandbox restarts  ${await get(pod("web-0", "a", "second"))}`);
  await free(pod("web-0", "a"));
  output.line("  web-0 is deleted          its address rests");
  output.line(`  db-0 starts               ${await get(pod("db-0", "c"))}`);
  nowMs += cooldownMs;
  output.line(`  ${cooldownMs / 1000} s later, job-0 starts ${await get(pod("job-0", "d"))}`);
  output.line(`  job-1 starts              ${await get(pod("job-1", "e"))}`);
  output.line(`  job-2 starts              ${await get(pod("job-2", "f"))}`);
}

function pod(name: string, uid: string, containerId = "first"): Owner {
  return { kind: "pod", uid, namespace: "default", name, interface: "eth0", containerId };
}
