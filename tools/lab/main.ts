// `npm run lab -- SCENARIO`: a live migration with real OVN and real QEMU on this machine, and what it cost whom.
import { parseArgs } from "node:util";

import { guestUnpackedPackages } from "../../test/lab/guest/requirements.ts";
import { ovnVersions } from "../../test/lab/ovn/packages.ts";
import { ovnDebianPackages } from "../../test/lab/ovn/requirements.ts";
import { scenarios } from "../../test/lab/ovn/scenarios/all.ts";
import { type Figures, type Part, parts, type Scenario, type Zones } from "../../test/lab/ovn/scenarios/scenario.ts";
import { tell, type Telling, tellingMs } from "../../test/lab/ovn/scenarios/tell.ts";
import { log, runCommand } from "../bootstrap/command.ts";
import { ensureDebianPackages } from "../bootstrap/debian.ts";
import { ensureUnpacked } from "../bootstrap/unpacked.ts";

const width = Math.max(...scenarios.map(({ name }) => name.length));
const usage = `npm run lab -- SCENARIO [--ovn VERSION] [--zones one|three] [--repeat N] [--reaction MS] [--without WHAT]

${scenarios.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`).join("\n")}

  --ovn VERSION    ${ovnVersions.join(" or ")}; the newest that the scenario can be told with, where none is asked for
  --zones WHICH    one control plane, or three zones, each with databases of its own and a transit switch between them (one)
  --repeat N       N times, each in a lab of its own (1)
  --reaction MS    from QEMU's word until the network is told of it, as Kubernetes needs some time to say it (0)
  --without WHAT   mac-binding: routers ask for the VM's MAC; announcements: nodes tell neighbours nothing;
                   port-groups: the target's port is not in those of the source; bystanders: nobody is there but those who speak with the VM

The last line of each run is JSON: QEMU's downtime; for each probe the longest silence, and what of it is beyond the
downtime; what bystanders missed; how many connections were lost; everything else that is not as it has to be. It needs
root, and takes some 20 s and a core and a half.`;

/** Key: the word for it here. */
const shapes: Readonly<Record<string, Zones>> = { one: "one", three: "interconnected" };
await runCommand(main);

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      ovn: { type: "string" },
      zones: { type: "string" },
      repeat: { type: "string", default: "1" },
      reaction: { type: "string", default: "0" },
      without: { type: "string", multiple: true, default: [] },
      help: { type: "boolean", short: "h" },
    },
    allowPositionals: true,
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const scenario = scenarios.find(({ name }) => name === positionals[0]);
  const isNumber = (text: string) => /^\d{1,5}$/.test(text);
  if (scenario === undefined || positionals.length > 1 || !isNumber(values.repeat) || !isNumber(values.reaction)) {
    console.error(usage);
    return 2;
  }
  const version =
    values.ovn === undefined ? scenario.versions[0] : scenario.versions.find((each) => each === values.ovn);
  if (version === undefined)
    throw new Error(`${scenario.name} can be told with OVN ${scenario.versions.join(" and ")}, not with ${values.ovn}`);
  const zones =
    values.zones === undefined ? scenario.zones[0] : scenario.zones.find((each) => each === shapes[values.zones!]);
  if (zones === undefined) throw new Error(`${scenario.name} cannot be told with --zones ${values.zones}`);
  const without = new Set(values.without.filter(isPart));
  if (without.size < values.without.length) {
    console.error(usage);
    return 2;
  }
  bringIn();
  let isWell = true;
  for (let round = 0; round < Number(values.repeat); round++) {
    const figures = await tellOnce(scenario, { version, zones, reactionMs: Number(values.reaction), without });
    for (const line of table(figures)) console.error(line);
    console.log(JSON.stringify(figures));
    isWell &&= figures.faults.length === 0;
  }
  return isWell ? 0 : 1;
}

function isPart(text: string): text is Part {
  return (parts as readonly string[]).includes(text);
}

/** Ctrl-C ends it in order. */
async function tellOnce(scenario: Scenario, telling: Omit<Telling, "signal" | "log">): Promise<Figures> {
  const leaving = new AbortController();
  const leave = () => leaving.abort(new Error("called off; everything is removed"));
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) process.on(name, leave);
  try {
    const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(tellingMs)]);
    return await tell(scenario, { ...telling, signal, log });
  } finally {
    for (const name of names) process.off(name, leave);
  }
}

function bringIn(): void {
  const { reason } = ensureDebianPackages(ovnDebianPackages, log);
  const why = guestUnpackedPackages.reduce((found, name) => found ?? ensureUnpacked(name, log), reason);
  if (why !== undefined) throw new Error(why);
}

function table({ moves, probes, bystanders, faults, load }: Figures): string[] {
  const pad = (value: number) => `${value}`.padStart(6);
  return [
    ...moves.map(
      ({ vm, downtimeMs, stillMs }) =>
        `  ${vm}: QEMU's downtime ${downtimeMs} ms, still for ${stillMs} ms; load ${load}`,
    ),
    ...probes.map(
      ({ from, to, kind, gapMs, beyondMs, sent, answered, lost }) =>
        `  ${kind.padEnd(4)} from ${from.padEnd(7)} to ${to}  silent ${pad(gapMs)} ms, ${pad(beyondMs)} beyond` +
        `  ${answered} of ${sent} answered${lost === undefined ? "" : `  LOST: ${lost}`}`,
    ),
    `  ${bystanders.probes} bystanders missed ${bystanders.missed}, silent ${bystanders.longestGapMs} ms at the longest`,
    ...faults.map((each) => `  FAULT: ${each}`),
  ];
}
