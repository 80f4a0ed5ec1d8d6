// A virtual machine on br-int, as KubeVirt's bridge binding leaves it: a QEMU guest on a tap, that gets its address by
// DHCP from OVN, answers pings, and echoes on TCP port 7. It stays this object when it moves (migration.ts).
import type { Family } from "../../../src/net/address.ts";
import type { CpioFile } from "../guest/cpio.ts";
import { Guest } from "../guest/guest.ts";
import { until } from "../wait.ts";
import { bootScript6, dhclientFiles, leaseScript6 } from "./guest-dhclient.ts";
import type { OvnNode } from "./node.ts";
import { podMtu } from "./wiring.ts";

export interface GuestWishes {
  readonly name: string;
  /** The logical port that it is. */
  readonly port: string;
  /** `iface-id-ver`: where the logical port has one, OVN binds only an interface that has the same (the pod's UID). */
  readonly portVersion?: string;
  readonly mac: string;
  /** Of which it asks for addresses: IPv4, where none are named. */
  readonly families?: readonly Family[];
}

type SeatPort = Pick<GuestWishes, "port" | "portVersion">;

interface GuestPlan extends GuestWishes {
  /** Where its image is written. */
  readonly folder: string;
}

/** Where it runs: QEMU, and the tap that is its port on the node's switch. */
export interface Seat {
  readonly node: OvnNode;
  readonly machine: Guest;
  readonly tap: string;
}

export const echoPort = 7;

/** What udhcpc was told, by its names for it: `ip`, `mask`, `router`, `serverid`, `lease`, `hostname`, `mtu`, `dns`. */
export type Lease = ReadonlyMap<string, string>;

const usualFamilies: readonly Family[] = [4];

const boot = (families: readonly Family[]) => `#!/bin/sh
ip link set eth0 up
nc -ll -p ${echoPort} -e /bin/cat &
${families.includes(6) ? "/boot6.sh > /run/boot6.log 2>&1 &" : ""}
${families.includes(4) ? "exec udhcpc -i eth0 -f -s /lease.sh -t 60 -T 1 -A 1" : ""}
`;
const leaseScript = `#!/bin/sh
case "$1" in
deconfig) ip -4 addr flush dev eth0 ;;
bound|renew)
  if [ "$1" = bound ]; then
    ip -4 addr flush dev eth0
    ip addr add $ip/$mask dev eth0
    for each in $router; do
      ip route replace $each dev eth0 scope link
      ip route replace default via $each dev eth0
    done
  fi
  env > /run/lease.new
  mv /run/lease.new /run/lease
  echo $1 >> /run/leases ;;
esac
`;

export class OvnGuest {
  readonly plan: GuestPlan;
  /** Where it runs now. */
  seat: Seat;
  /** With those that wait for it, and those that it has left and that are still there. */
  readonly #seats: Set<Seat>;
  #count = 0;

  private constructor(plan: GuestPlan, seat: Seat) {
    this.plan = plan;
    this.seat = seat;
    this.#seats = new Set([seat]);
  }

  static async boot(node: OvnNode, plan: GuestPlan, signal?: AbortSignal): Promise<OvnGuest> {
    return new OvnGuest(plan, await sit(node, plan, plan, 0, false, signal));
  }

  /** A second QEMU on that node, which waits for this one's memory. */
  async prepareSeat(node: OvnNode, port: SeatPort, signal?: AbortSignal): Promise<Seat> {
    const seat = await sit(node, this.plan, port, ++this.#count, true, signal);
    this.#seats.add(seat);
    return seat;
  }

  /** Its QEMU, port and tap are no more. */
  async leave(seat: Seat): Promise<void> {
    await leave(seat);
    this.#seats.delete(seat);
  }

  get machine(): Guest {
    return this.seat.machine;
  }

  /** Resolves once DHCP has given it an address of each family, and in IPv6 somebody a way out; the first's words. */
  async leased(signal?: AbortSignal): Promise<Lease> {
    const { name, families = usualFamilies } = this.plan;
    const ask = async (command: string) => {
      const { status, output } = await this.machine.console.run(command);
      return status === 0 && output;
    };
    const [lease] = await Promise.all(
      families.map((family) => {
        const command = family === 4 ? "cat /run/lease" : "ip -6 route show default | grep -q via && cat /run/lease6";
        const what = `${name} to have a lease and a router of IPv${family}`;
        return until(() => ask(command), { what, everyMs: 200, signal });
      }),
    ).catch(async (cause: unknown) => {
      signal?.throwIfAborted();
      const { output } = await this.machine.console.run("tail -n 15 /run/boot*.log; ip addr; ip -6 route");
      throw new Error(`${String(cause)}\nThe guest itself:\n${output}`, { cause });
    });
    return new Map(lease!.split("\n").map((line) => line.split("=", 2) as [string, string]));
  }

  /** Asks its server again, as at half of the lease's time; resolves once it was answered. */
  async renew(signal?: AbortSignal): Promise<void> {
    const count = async () => Number(await this.machine.run("grep -c renew /run/leases || true"));
    const before = await count();
    await this.machine.run("killall -USR1 udhcpc");
    const isRenewed = async () => (await count()) > before;
    await until(isRenewed, { what: `${this.plan.name} to renew its lease`, everyMs: 200, signal });
  }

  /** Its own view, line by line: `10.244.0.0/24 dev eth0 scope link src 10.244.0.8`. */
  async routes(): Promise<string[]> {
    return lines(await this.machine.run("ip route"));
  }

  /** The same in IPv6, without what every link has and what runs down: `default via fe80::1 dev eth0`. */
  async routes6(): Promise<string[]> {
    const all = lines(await this.machine.run("ip -6 route"));
    const own = all.filter((line) => !/^(?:fe80::\/64|multicast|ff00::\/8)/.test(line));
    return own.map((line) => line.replace(/ +(?:proto|metric|expires|mtu|hoplimit|pref) \S+/g, "").trim());
  }

  /** With the prefix length; without the loopback and link-local ones. */
  async addresses(): Promise<string[]> {
    const text = await this.machine.run("ip addr show dev eth0");
    return [...text.matchAll(/inet6? (\S+)/g)]
      .map(([, address]) => address!)
      .filter((each) => !each.startsWith("fe80:"));
  }

  /** Address -> MAC, as the guest believes. */
  async neighbours(): Promise<Map<string, string>> {
    const text = await this.machine.run("ip neigh show dev eth0");
    return new Map([...text.matchAll(/^(\S+) .*lladdr (\S+)/gm)].map(([, address, mac]) => [address!, mac!]));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#seats].map((seat) => this.leave(seat)));
  }
}

async function sit(
  node: OvnNode,
  { name, mac, folder, families = usualFamilies }: GuestPlan,
  { port, portVersion }: SeatPort,
  number: number,
  waits: boolean,
  signal?: AbortSignal,
): Promise<Seat> {
  const tap = `t${number}-${name}`;
  await node.namespace.run(
    ["ip", "tuntap", "add", "dev", tap, "mode", "tap"],
    ["ip", "link", "set", tap, "mtu", `${podMtu}`, "up"],
  );
  const version = portVersion === undefined ? {} : { "iface-id-ver": portVersion };
  await node.switch.addPort(tap, { "iface-id": port, "attached-mac": mac, ...version }, signal);
  const machine = await Guest.start({
    name: `${name}-${number}`,
    place: node.namespace.place,
    nics: [{ tap, mac, mtu: podMtu, wholeChecksums: true }],
    folder,
    files: [
      { path: "boot.sh", content: boot(families) },
      { path: "lease.sh", content: leaseScript },
      ...(families.includes(6) ? await filesOf6() : []),
    ],
    ...(waits && { waits }),
  });
  return { node, machine, tap };
}

async function filesOf6(): Promise<readonly CpioFile[]> {
  return [
    { path: "boot6.sh", content: bootScript6 },
    { path: "lease6.sh", content: leaseScript6 },
    ...(await dhclientFiles()),
  ];
}

async function leave({ node, machine, tap }: Seat): Promise<void> {
  await machine.close();
  await node.switch.removePort(tap);
  await node.namespace.run(["ip", "link", "delete", tap]).catch(() => {}); // its switch may have ended
}

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
