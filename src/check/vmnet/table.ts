// The table of `holdfast leases`: every address of networks with managed DHCP that is somebody's, or nobody's on
// purpose. Pure. From holds and pools: what a DHCP client was told last, its agents know.
import { columnLines } from "../../log/columns.ts";
import { type Address, compare } from "../../net/address.ts";
import { common } from "../../net/interval-set.ts";
import { formatInterval, type Interval } from "../../net/interval.ts";
import type { PoolPlan } from "../../vmnet/rules/pool-plan.ts";
import type { VmHold, VmNetworksSnapshot } from "./snapshot.ts";

/** `resting`: it was released, and is nobody's until its lease time is over. `quarantined`: held, and not offered. */
type LeaseState = "bound" | "quarantined" | "resting" | "reserved" | "excluded";

export interface LeaseRow {
  /** One, or FIRST-LAST where they are excluded. */
  readonly address: string;
  /** Empty: nobody's. */
  readonly mac: string;
  /** namespace/name of the VM's network config; empty: no VM has it. */
  readonly vm: string;
  readonly network: string;
  /** namespace/name; empty: its hold does not say. */
  readonly pool: string;
  readonly state: LeaseState;
  /** When the state ends; empty: nobody knows, or it does not. */
  readonly until: string;
  /** Why it is reserved or quarantined; empty otherwise. */
  readonly note: string;
}

export function leaseRows({ pools, holds, nowMs }: VmNetworksSnapshot, asked?: string): LeaseRow[] {
  const isAsked = (pool: string) => asked === undefined || pool === asked || pool.split("/")[1] === asked;
  const rows = [
    ...holds.map((held) => ({ at: held.hold.address, row: holdRow(held, nowMs) })),
    ...pools.flatMap(({ reading: { plan } }) => (plan === undefined ? [] : withheldRows(plan))),
  ].filter(({ row }) => isAsked(row.pool));
  return rows.toSorted((a, b) => byPlace(a, b)).map(({ row }) => row);
}

interface Placed {
  readonly at: Address;
  readonly row: LeaseRow;
}

function byPlace(a: Placed, b: Placed): number {
  if (a.row.network !== b.row.network) return a.row.network < b.row.network ? -1 : 1;
  return a.at.family === b.at.family ? compare(a.at, b.at) : a.at.family - b.at.family;
}

function holdRow({ hold, network, cooling, quarantine }: VmHold, nowMs: number): LeaseRow {
  const { owner, note } = hold;
  const mac = owner.kind === "nic" ? owner.nic : (note?.mac ?? "");
  const named = { address: hold.address.toString(), mac, network, pool: note?.pool ?? "" };
  const vm = owner.name === "" ? "" : `${owner.namespace}/${owner.name}`;
  if (cooling !== undefined) {
    return { ...named, vm, state: "resting", until: new Date(cooling.untilMs).toISOString(), note: "" };
  }
  const [until = "", by = ""] = quarantine.split(" ");
  const isOver = Date.parse(until) <= nowMs;
  if (quarantine === "" || isOver) return { ...named, vm, state: "bound", until: "", note: "" };
  return { ...named, vm, state: "quarantined", until, note: quarantineNotes[by] ?? quarantine };
}

const quarantineNotes: Readonly<Record<string, string>> = {
  decline: "its client found it in use",
  probe: "another answered for it",
};

/** What no VM is given: the server's and the router's address, reservations, and what is excluded. */
function withheldRows(plan: PoolPlan): Placed[] {
  const { network, key: pool } = plan;
  const families = [plan.ipv4, ...(plan.ipv6 ? [plan.ipv6] : [])];
  const row = (interval: Interval, state: LeaseState, mac: string, note: string): Placed => {
    const same = compare(interval.first, interval.last) === 0;
    const address = same ? interval.first.toString() : formatInterval(interval);
    return { at: interval.first, row: { address, mac, vm: "", network: network.key, pool, state, until: "", note } };
  };
  return families.flatMap((family) => [
    ...family.reserved.map(({ interval, reason }) => {
      const known = family.reservations.find(({ address }) => compare(address, interval.first) === 0);
      return row(interval, "reserved", known?.mac ?? "", known?.description ?? known?.hostname ?? reason);
    }),
    ...[...common([family.range], family.excluded)].map((interval) => row(interval, "excluded", "", "")),
  ]);
}

export function leaseLines(rows: readonly LeaseRow[]): string[] {
  return columnLines([
    ["ADDRESS", "MAC", "VM", "NETWORK", "POOL", "STATE"],
    ...rows.map(({ address, mac, vm, network, pool, state, until, note }) => [
      address,
      mac || "-",
      vm || "-",
      network,
      pool || "-",
      [state, until === "" ? "" : `until ${until}`, note === "" ? "" : `(${note})`].filter(Boolean).join(" "),
    ]),
  ]);
}
