// What attaching needs of this node, opened: the record on the disk, Open vSwitch's database, OVN's northbound.
import { Northbound, portTables } from "../../ovn/northbound.ts";
import { openVSwitch } from "../../ovsdb/schema/open-vswitch.ts";
import { ovnNorthbound } from "../../ovsdb/schema/ovn-northbound.ts";
import { OvsdbClient } from "../../ovsdb/session/client.ts";
import type { OvnPlace } from "../context.ts";
import { AttachmentFile } from "./attachment-file.ts";
import { cables } from "./cable.ts";
import { LocalSwitch, switchTables } from "./local-switch.ts";
import { NorthboundPorts } from "./logical-ports.ts";
import { OvnNetworks, type OvnNetworksOptions } from "./ovn-networks.ts";
import { OvnUpkeep, type UpkeepOptions } from "./upkeep.ts";

type Made = "file" | "local" | "ports" | "cables" | "mtu";

type Shared = "pods" | "journal";

interface Surroundings extends Omit<OvnNetworksOptions, Made | Shared>, Omit<UpkeepOptions, Made | "client" | "pods"> {
  readonly pods: OvnNetworksOptions["pods"] & UpkeepOptions["pods"];
  /** The daemon's folder. */
  readonly state: string;
}

interface OpenOvn extends AsyncDisposable {
  readonly networks: OvnNetworks;
  /** Follows both databases, and finishes what is left, until the signal ends it. */
  run(signal: AbortSignal): Promise<void>;
}

/** Undefined: the daemon was not told where OVN is. */
export async function openOvn(place: OvnPlace | undefined, around: Surroundings): Promise<OpenOvn | undefined> {
  if (place === undefined) return undefined;
  const { log, clock, state } = around;
  const following = (what: string) => ({ clock, onError: (error: Error) => log.warn(`following ${what}`, { error }) });
  const vswitch = new OvsdbClient({
    database: openVSwitch,
    endpoints: place.switchEndpoints,
    followed: switchTables,
    ...following("Open vSwitch"),
  });
  const northbound = new OvsdbClient({
    ...place.northbound,
    database: ovnNorthbound,
    followed: portTables,
    ...following("OVN's northbound"),
  });
  const file = await AttachmentFile.open(state);
  const synced = (signal: AbortSignal) =>
    northbound.until(() => northbound.hasSynced || undefined, signal).then(() => undefined);
  const ports = new NorthboundPorts(new Northbound(northbound), synced);
  const networks = new OvnNetworks({
    ...around,
    file,
    local: new LocalSwitch(vswitch),
    ports,
    cables,
    mtu: place.mtu,
  });
  const upkeep = new OvnUpkeep({ ...around, file });
  return {
    networks,
    run: async (signal) => void (await Promise.all([vswitch, northbound, upkeep].map((each) => each.run(signal)))),
    [Symbol.asyncDispose]: () => file.close(),
  };
}
