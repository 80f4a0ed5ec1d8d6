// `npm run lab -- SCENARIO`: a live migration with real OVN and real QEMU on this machine, and what it cost whom.
import { parseArgs } from "node:util";

import { guestUnpackedPackages } from "../../test/lab/guest/requirements.ts";
import { ovnLab } from "../../test/lab/ovn/lab.ts";
import { type OvnVersion, ovnVersions } from "../../test/lab/ovn/packages.ts";
import { ovnDebianPackages } from "../../test/lab/ovn/requirements.ts";
import { scenarios } from "../../test/lab/ovn/scenarios/all.ts";
import { type Figures, figuresOf, type Scenario, type ScenarioWishes } from "../../test/lab/ovn/scenarios/scenario.ts";
import { log, runCommand } from "../bootstrap/command.ts";
import { ensureDebianPackages } from "../bootstrap/debian.ts";
import { ensureUnpacked } from "../bootstrap/unpacked.ts";

const width = Math.max(...scenarios.map(({ name }) => name.length));
const usage = `npm run lab -- SCENARIO [--ovn VERSION] [--repeat N] [--reaction MS] [--without WHAT]

${scenarios.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`).join("\n")}

  --ovn VERSION    ${ovnVersions.join(" or ")}; the newest that the scenario can be told with, where none is asked for
  --repeat N       N times, each in a lab of its own (1)
  --reaction MS    from QEMU's word until the network is told of it, as Kubernetes needs some time to say it (0)
  --without WHAT   mac-binding: routers ask for the VM's MAC; announcements: nodes tell neighbours nothing

The last line of each run is JSON: QEMU's downtime; for each probe the longest silence, and what of it is beyond the
downtime; how many connections were lost. It needs root, and takes some 15 s and a core and a half.`;

const parts: ReadonlySet<string> = new Set<Part>(["mac-binding", "announcements"]);
type Part = NonNullable<ScenarioWishes["without"]> extends ReadonlySet<infer Each> ? Each : never;
/** Ten times what a scenario takes on two busy cores. */
const limitMs = 10 * 60_000;

await runCommand(main);

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      ovn: { type: "string" },
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
  const without = new Set(values.without.filter(isPart));
  if (without.size < values.without.length) {
    console.error(usage);
    return 2;
  }
  bringIn();
  let isWell = true;
  for (let round = 0; round < Number(values.repeat); round++) {
    const figures = await tell(scenario, version, { reactionMs: Number(values.reaction), without });
    for (const line of table(figures)) console.error(line);
    console.log(JSON.stringify(figures));
    isWell &&= figures.lostConnections === 0 && figures.keptItsConfiguration;
  }
  return isWell ? 0 : 1;
}

function isPart(text: string): text is Part {
  return parts.has(text);
}

async function tell(scenario: Scenario, version: OvnVersion, wishes: Omit<ScenarioWishes, "signal">): Promise<Figures> {
  const leaving = new AbortController();
  const leave = () => leaving.abort(new Error("called off; everything is removed"));
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) process.on(name, leave);
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(limitMs)]);
  try {
    const { nodes, zones } = scenario;
    await using lab = await ovnLab({ nodes, zones, version, signal, log });
    log(`${scenario.name} with OVN ${version}, on ${nodes} nodes; logs in ${lab.folder} while it runs`);
    return figuresOf(scenario, version, await scenario.run(lab, { ...wishes, signal }));
  } finally {
    for (const name of names) process.off(name, leave);
  }
}

function bringIn(): void {
  const { reason } = ensureDebianPackages(ovnDebianPackages, log);
  const why = guestUnpackedPackages.reduce((found, name) => found ?? ensureUnpacked(name, log), reason);
  if (why !== undefined) throw new Error(why);
}

function table({ downtimeMs, probes, load }: Figures): string[] {
  const lines = probes.map(
    ({ from, kind, gapMs, beyondMs, sent, answered, lost }) =>
      `  ${kind.padEnd(4)} from ${from.padEnd(7)}  silent ${`${gapMs}`.padStart(6)} ms, ${`${beyondMs}`.padStart(6)} beyond` +
      `  ${answered} of ${sent} answered${lost === undefined ? "" : `  LOST: ${lost}`}`,
  );
  return [`  QEMU's downtime ${downtimeMs} ms, load ${load}`, ...lines];
}
