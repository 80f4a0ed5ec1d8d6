// `holdfast tour`: the promises of the allocation core, shown on a small network in memory, in a second. No cluster.
import { Command } from "commander";

import { decide } from "../../ipam/decide.ts";
import type { Owner } from "../../ipam/owner.ts";
import { Pool } from "../../ipam/pool.ts";
import { parseAddress } from "../../net/address.ts";
import { parseBlock } from "../../net/interval.ts";
import { parseCidr } from "../../net/prefix.ts";
import type { Output } from "../program.ts";

const cooldownMs = 30_000;

export function tourCommand(output: Output): Command {
  return new Command("tour")
    .description(
      "Show on a small network in memory how an address is taken, kept, released and refused. Needs no cluster.",
    )
    .action(() => tour(output));
}

function tour(output: Output): void {
  let nowMs = Date.now();
  const now = () => nowMs;
  const prefix = parseCidr("10.77.0.0/29").prefix;
  const definition = { prefix, gateway: parseAddress("10.77.0.1"), excludes: [parseBlock("10.77.0.4")], cooldownMs };
  const pool = new Pool(definition, now);

  const get = (owner: Owner) => {
    const decision = decide(pool, { owner }, Math.random);
    if (decision.kind === "refusal") return `refused: ${decision.message}`;
    pool.take(decision.address, owner);
    return `${decision.address}${decision.early ? " (given early)" : ""}`;
  };

  output.line(
    `example network ${prefix}: the gateway is 10.77.0.1, 10.77.0.4 is excluded, released addresses rest ${cooldownMs / 1000} s`,
  );
  output.line(`  web-0 starts              ${get(pod("web-0", "a"))}`);
  output.line(`  vm-1 starts               ${get(pod("vm-1", "b"))}`);
  output.line(`  web-0's sandbox restarts  ${get(pod("web-0", "a", "second"))}`);
  pool.releaseOwner(pod("web-0", "a"));
  output.line("  web-0 is deleted          its address rests");
  output.line(`  db-0 starts               ${get(pod("db-0", "c"))}`);
  nowMs += cooldownMs;
  output.line(`  ${cooldownMs / 1000} s later, job-0 starts ${get(pod("job-0", "d"))}`);
  output.line(`  job-1 starts              ${get(pod("job-1", "e"))}`);
  output.line(`  job-2 starts              ${get(pod("job-2", "f"))}`);
}

function pod(name: string, uid: string, containerId = "first"): Owner {
  return { kind: "pod", uid, namespace: "default", name, interface: "eth0", containerId };
}
