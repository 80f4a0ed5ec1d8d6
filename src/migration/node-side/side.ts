// What a node's daemon does for the default network on OVN: it says on its Node what the machine is; it follows where
// every VM is, by the same rules as the leader, tells it when a guest goes on here, and tells the neighbours on its own
// switch when one has moved. Where zones are interconnected it writes the rows of its own.
import { type Node, nodes } from "../../cluster/resources.ts";
import { Informer } from "../../kube/cache/informer.ts";
import { picked } from "../../kube/meta.ts";
import type { Runnable } from "../../kube/process/stages.ts";
import { MigrationLeader } from "../leader/leader.ts";
import { noRows, noZones, ownZone } from "../leader/placement-writer.ts";
import { Announcer, type AnnouncerOptions } from "../neighbours/announcer.ts";
import { type ZonePlace, ZoneWriting } from "../northbound/zone-writing.ts";
import { factsAnnotations } from "../topology/node-facts.ts";
import { Chassis } from "./chassis.ts";
import { EarlySigns, type EarlySignsOptions } from "./early-signs.ts";
import type { gatewayOf } from "./gateway.ts";
import { MachineTeller } from "./machine-teller.ts";

export interface NodeSideOptions extends Omit<AnnouncerOptions, "placements">, Pick<EarlySignsOptions, "watch"> {
  readonly systemNamespace: string;
  /** Open vSwitch's own database. */
  readonly switchEndpoints: string;
  /** The machine's gateway, of its physical networks and their bridges. Absent: it has none. */
  readonly gateway?: (mappings: ReadonlyMap<string, string>) => ReturnType<typeof gatewayOf>;
  /** Where zones are interconnected: the daemon writes that of its node. Absent: the leader writes the only one. */
  readonly ownZone?: ZonePlace;
  /** Where OVN-Kubernetes is looked for. Default: where its manifests put it. */
  readonly ovnkubeNamespaces?: readonly string[];
}

/** A thousand daemons ask six small lists each: ten requests a second of them all. */
const lookEveryMs = 600_000;

export function nodeSide(options: NodeSideOptions): Runnable {
  return { name: "migration", run: (signal) => runNodeSide(options, signal) };
}

async function runNodeSide(options: NodeSideOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, log, node, ownZone: place } = options;
  const onError = (error: Error) => log.warn("following nodes", { error });
  const followed = new Informer<Node>({ client, clock, onError, resource: nodes, transform: trimmed });
  const zone = place && new ZoneWriting({ ...options, ...place, nodes: followed, zone: node, localNode: node });
  const leader = new MigrationLeader({
    ...options,
    nodes: followed,
    writer: zone?.writer ?? noRows,
    zones: zone === undefined ? noZones : ownZone(node),
    keepsRecords: false,
    lookEveryMs,
    onMove: (move) => void announcer.moved(move, signal),
  });
  const announcer = new Announcer({ ...options, placements: () => leader.placements() });
  const chassis = new Chassis({
    endpoints: options.switchEndpoints,
    clock,
    onError: (error) => log.warn("Open vSwitch of this node", { error }),
  });
  new EarlySigns({ ...options, caches: leader.caches, chassis }).follow(signal);
  const machine = new MachineTeller({ ...options, nodes: followed, chassis });
  const running = [followed, ...leader.informers, chassis, machine].map((each) => each.run(signal));
  const keeping = zone && [
    zone.follow.run(signal, () => {}),
    zone.run({ clock, log, nodes: followed, mayWrite: () => leader.mayWrite }, signal),
  ];
  await Promise.all([...running, leader.lead.run(signal, () => {}), ...(keeping ?? [])]);
}

function trimmed({ metadata }: Node): Node {
  const kept = picked(metadata, "name", "uid", "resourceVersion", "creationTimestamp");
  return { metadata: { ...kept, annotations: picked(metadata.annotations, ...factsAnnotations) } };
}
