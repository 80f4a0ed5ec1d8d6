// A scenario told in a lab of its own.
import { ovnLab } from "../lab.ts";
import type { OvnVersion } from "../packages.ts";
import { type Figures, figuresOf, type Part, type Scenario, type Zones } from "./scenario.ts";

export interface Telling {
  readonly version: OvnVersion;
  readonly zones: Zones;
  readonly without?: ReadonlySet<Part>;
  readonly reactionMs?: number;
  readonly signal: AbortSignal;
  readonly log?: (line: string) => void;
}

/** Ten times what the longest takes on two busy cores. */
export const tellingMs = 10 * 60_000;
/** Of interconnected zones: each is a node. */
const fewestZones = 3;

export async function tell(scenario: Scenario, telling: Telling): Promise<Figures> {
  const { version, zones, without = new Set(), reactionMs = 0, signal, log } = telling;
  const nodes = zones === "one" ? scenario.nodes : Math.max(fewestZones, scenario.nodes);
  await using lab = await ovnLab({ nodes, zones, version, signal, ...(log && { log }) });
  log?.(`${scenario.name} with OVN ${version}, on ${nodes} nodes; logs in ${lab.folder} while it runs`);
  return figuresOf(scenario, { ovn: version, zones }, await scenario.run(lab, { reactionMs, without, signal }));
}
