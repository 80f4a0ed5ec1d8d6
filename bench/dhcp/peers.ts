// The servers that are measured, each as a process in the server's namespace: ours, Kea and dnsmasq, with the same
// reservations, and the floor (floor.c), which decides nothing. Each writes below a folder of its own, in memory where
// the machine has room.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { dnsServer, firstAddress, leaseSeconds, netmask, reservations, router, serverAddress, subnet } from "./plan.ts";

export interface Contestant {
  readonly name: string;
  /** The server's address is configured on its interface; else the server answers ARP for it. */
  readonly hasAddress: boolean;
  /** Writes what it needs into the folder, and says how it is started. */
  prepare(folder: string): { readonly command: readonly string[]; readonly env?: NodeJS.ProcessEnv };
}

const serve = fileURLToPath(new URL("./serve.ts", import.meta.url));

/** With V8's cache, as ./holdfast runs: types are not stripped again, which saves 40 MiB. */
function oursBy(way: readonly string[]) {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/holdfast") };
  execFileSync(process.execPath, [serve, "prime"], { env });
  return { command: [process.execPath, serve, ...way], env };
}

/** By frames: what an agent does. The server's address is answered for. */
export const ours: Contestant = {
  name: "holdfast",
  hasAddress: false,
  prepare: () => oursBy([]),
};

/** By the kernel's UDP socket, as the others do it. */
export const oursByUdp: Contestant = {
  name: "holdfast by UDP",
  hasAddress: true,
  prepare: () => oursBy(["udp"]),
};

/** What perfdhcp can make at most, beside a server that costs next to nothing. */
export const floor: Contestant = {
  name: "floor",
  hasAddress: true,
  prepare(folder) {
    const program = join(folder, "floor");
    execFileSync("gcc", ["-O2", "-Wall", "-o", program, fileURLToPath(new URL("./floor.c", import.meta.url))]);
    return { command: [program, serverAddress, firstAddress] };
  },
};

/** Threads on, as many as there are cores; leases in memory alone, which is its fastest. */
export const kea: Contestant = {
  name: "Kea",
  hasAddress: true,
  prepare(folder) {
    const file = join(folder, "kea.json");
    writeFileSync(file, JSON.stringify({ Dhcp4: keaConfiguration(folder) }));
    const env = { KEA_LOCKFILE_DIR: folder, KEA_PIDFILE_DIR: folder, KEA_LOGGER_DESTINATION: join(folder, "kea.log") };
    return { command: ["kea-dhcp4", "-c", file], env: { ...process.env, ...env } };
  },
};

function keaConfiguration(folder: string): unknown {
  return {
    "interfaces-config": { interfaces: ["eth0"], "dhcp-socket-type": "udp" },
    "lease-database": { type: "memfile", persist: false },
    "multi-threading": { "enable-multi-threading": true, "thread-pool-size": 2, "packet-queue-size": 64 },
    "valid-lifetime": leaseSeconds,
    "host-reservation-identifiers": ["hw-address"],
    "reservations-in-subnet": true,
    "reservations-out-of-pool": true,
    "sanity-checks": { "lease-checks": "none" },
    subnet4: [
      {
        subnet,
        "option-data": [
          { name: "routers", data: router },
          { name: "domain-name-servers", data: dnsServer },
        ],
        reservations: reservations().map(({ mac, address }) => ({ "hw-address": mac, "ip-address": address })),
      },
    ],
    loggers: [{ name: "kea-dhcp4", severity: "ERROR", output_options: [{ output: join(folder, "kea.log") }] }],
  };
}

export const dnsmasq: Contestant = {
  name: "dnsmasq",
  hasAddress: true,
  prepare(folder) {
    const hosts = join(folder, "hosts");
    writeFileSync(
      hosts,
      reservations()
        .map(({ mac, address }) => `${mac},${address},${leaseSeconds}s\n`)
        .join(""),
    );
    const words = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--user=root", "--no-ping"];
    words.push("--interface=eth0", "--bind-interfaces", "--dhcp-authoritative", "--quiet-dhcp", "--log-facility=-");
    words.push(`--dhcp-range=10.42.0.0,static,${netmask},${leaseSeconds}s`, `--dhcp-hostsfile=${hosts}`);
    words.push(`--dhcp-leasefile=${join(folder, "leases")}`, "--dhcp-lease-max=20000", `--pid-file=${folder}/pid`);
    words.push(`--dhcp-option=option:router,${router}`, `--dhcp-option=option:dns-server,${dnsServer}`);
    return { command: words };
  },
};
