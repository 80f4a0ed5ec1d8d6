// What is not as it has to be after any scenario, as sentences. Pure.
import { longest } from "../arrivals.ts";
import type { ProbeReport } from "../probe.ts";
import type { GuestView, Told } from "./scenario.ts";

/** Pings come every 10 ms: who answers at all has done so within this time, on a machine with ten times the load. */
const silentMs = 1000;

export function faultsOf({ probes, bystanders, guests, faults }: Told): readonly string[] {
  return [
    ...faults,
    ...[...probes, ...bystanders].flatMap(unheard),
    ...bystanders.flatMap(disturbed),
    ...guests.flatMap(changed),
  ];
}

const pathOf = ({ kind, name, to }: ProbeReport) => `${kind} from ${name} to ${to}`;

function unheard(probe: ProbeReport): string[] {
  const { lost, silentAtEndMs } = probe;
  if (lost !== undefined) return [`${pathOf(probe)}: ${lost}`];
  return silentAtEndMs > silentMs ? [`${pathOf(probe)}: no answer in the last ${Math.round(silentAtEndMs)} ms`] : [];
}

/**
 * Of those who do not move nobody may notice anything. Single pings are lost on a busy machine, where Open vSwitch has
 * to wait for a core: they are counted (`missed`), and are no fault by themselves.
 */
function disturbed(probe: ProbeReport): string[] {
  const { ms } = longest(probe.gaps);
  return ms <= silentMs ? [] : [`${pathOf(probe)}: silent for ${Math.round(ms)} ms, and neither of them moved`];
}

function changed({ vm, before, after, routes }: GuestView): string[] {
  const list = (lines: readonly string[]) => `[${lines.join("; ")}]`;
  const ipv4 = after.filter((line) => / dev eth0/.test(line) && !line.includes(":")).toSorted();
  const wanted = routes.filter((line) => !line.includes(":")).toSorted();
  const missing = routes.filter((line) => line.includes(":") && !after.includes(line));
  return [
    ...(before.join("\n") === after.join("\n") ? [] : [`${vm} had ${list(before)} and now has ${list(after)}`]),
    ...missing.map((line) => `${vm} has no route ${line} among ${list(after)}`),
    ...(ipv4.join("\n") === wanted.join("\n") ? [] : [`${vm} has the IPv4 routes ${list(ipv4)}, not ${list(wanted)}`]),
  ];
}
