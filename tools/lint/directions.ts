// Who may import whom. The one table behind the lint rule, the picture in ARCHITECTURE.md and the test that breaks it.

export interface Folder {
  readonly about: string;
  /** Folders of ours it may import, itself aside. `vmnet/rules`: that part of src/vmnet alone. */
  readonly imports: readonly string[];
  /** Runs in a browser too: nothing of Node, nothing from npm, nothing with a side effect. */
  readonly pure?: true;
  /** Only these know HTTP: the rest of the system speaks to the API server through them. */
  readonly http?: true;
}

const features = ["net", "ipam", "api", "kube"] as const;

/** Key: the folder's name below src/. A folder is listed before it exists, so that its place is settled first. */
export const folders: Readonly<Record<string, Folder>> = {
  net: { about: "addresses, prefixes, ranges, MACs, interval sets", imports: [], pure: true },
  ipam: {
    about: "pool state, allocation decisions, owners, quarantine, the Ledger port",
    imports: ["net"],
    pure: true,
  },
  api: { about: "the kinds: schema, types, CRDs, defaults, validation", imports: ["net", "ipam"] },
  kube: { about: "REST, informers, workqueue, controllers, leader election, admission", imports: [], http: true },
  apiserver: { about: "the embedded Kubernetes API on node:sqlite", imports: ["kube"], http: true },
  cni: {
    about: "CNI types, config parsing, results, the shim and its socket protocol",
    imports: ["net", "ipam", "api"],
  },
  frame: { about: "frames on the wire: Ethernet, ARP, IPv6 and ICMPv6, checksums", imports: [], pure: true },
  linux: { about: "calls of libc that Node lacks: interfaces, packet sockets, namespaces", imports: ["net"] },
  dhcp: { about: "DHCP wire codec, server, raw sockets", imports: ["net", "frame", "linux"] },
  ovsdb: { about: "RFC 7047: notation, session, monitor cache, transactions", imports: [] },
  ovn: { about: "northbound tables and operations", imports: ["net", "ovsdb"] },
  log: { about: "what a process says while it runs: lines of JSON, or of text for a terminal", imports: [] },
  cluster: {
    about: "what daemons and leader tell each other: the shared state, free maps, slice objects, Leases, who is fenced",
    imports: [...features, "log"],
  },
  ledger: {
    about: "ledgers on durable things: one Kubernetes object per address, a journal per node; adoption, coexistence",
    imports: [...features, "cluster"],
  },
  pools: {
    about: "the leader's reconcilers of shared pools: mirror, free maps, coexistence, leak collection",
    imports: [...features, "cni", "cluster", "ledger", "log"],
  },
  transfer: {
    about: "moving in from other systems: migrate, import, compare",
    imports: [...features, "cni", "cluster", "ledger", "log"],
  },
  node: {
    about: "the node daemon: socket, requests, pending releases, probes, journal; pods attached to OVN",
    imports: [...features, "cni", "cluster", "ledger", "log", "ovn", "ovsdb", "frame", "linux"],
  },
  slices: {
    about:
      "the node slice reconcilers: who has which slice of a range, grants, leases of nodes, the sliced ranges of the state",
    imports: [...features, "cni", "cluster", "ledger", "log"],
  },
  claims: {
    about: "persistent addresses: which claims a VM has, whose they are, and when their addresses are free again",
    imports: [...features, "cni", "cluster", "ledger", "log"],
  },
  controller: {
    about: "one controller, put together: the shared informers, and the reconcilers that it starts",
    imports: ["kube", "claims", "cluster", "log", "pools", "slices", "vmnet"],
  },
  check: {
    about: "what an operator's commands see and set right: one snapshot, findings, repairs, tables",
    imports: [...features, "cni", "claims", "cluster", "ledger", "log", "pools", "slices", "vmnet"],
  },
  vmnet: {
    about: "managed DHCP: which addresses the NICs of VMs have, pools and their rules, where agents run",
    imports: [...features, "cluster", "ledger", "log", "dhcp"],
  },
  agent: {
    about: "the DHCP agent: follows the holds of its networks, answers on the wire, keeps the server's address",
    imports: [...features, "cluster", "log", "frame", "linux", "dhcp", "vmnet/rules"],
  },
  migration: {
    about: "live migration on OVN: where a VM is, its address on every pod of it, what neighbours are told, receipts",
    imports: [...features, "cluster", "log", "frame", "ovn"],
  },
  cli: {
    about: "the commands of ./holdfast",
    imports: [
      ...features,
      "check",
      "cni",
      "claims",
      "cluster",
      "ledger",
      "log",
      "pools",
      "slices",
      "transfer",
      "vmnet",
    ],
  },
};

/** Modules that speak HTTP; a folder without `http` may not import them. */
const httpModules = /^(node:)?(http|https|http2)$|^undici$/;

export interface Violation {
  readonly message: string;
}

/**
 * Judges one import. `file` and a relative `specifier`'s target are paths below the checkout, with forward slashes.
 * Tests are judged for what they import of ours only in that production code may not import them.
 */
export function judge(file: string, specifier: string): Violation | undefined {
  const from = folderOf(file);
  if (from === undefined || file.endsWith(".test.ts")) return undefined;
  const rule = folders[from];
  if (rule === undefined) {
    return {
      message: `src/${from} is not in tools/lint/directions.ts: add it there, with what it is for and what it may import.`,
    };
  }
  if (!specifier.startsWith(".")) return judgeOutside(from, rule, specifier);

  const target = normalise(file, specifier);
  if (target.endsWith(".test.ts")) return { message: `${target} is a test: production code does not import it.` };
  const to = folderOf(target);
  if (to === from) return undefined;
  if (to === undefined) {
    return {
      message: `src/${from} may not import ${target}: src/ imports only from src/ (bin, tools and test import it).`,
    };
  }
  if (rule.imports.some((each) => target.startsWith(`src/${each}/`))) return undefined;
  const allowed = rule.imports.length === 0 ? "nothing of ours" : rule.imports.map((name) => `src/${name}`).join(", ");
  return {
    message:
      `src/${from} may not import src/${to}; it may import ${allowed} (tools/lint/directions.ts, ARCHITECTURE.md). ` +
      "Move the shared part down, or take what you need as a parameter.",
  };
}

function judgeOutside(from: string, rule: Folder, specifier: string): Violation | undefined {
  if (rule.pure) {
    return {
      message: `src/${from} runs in a browser too and imports nothing from outside: ${specifier} must come in as a parameter.`,
    };
  }
  if (!rule.http && httpModules.test(specifier)) {
    return { message: `src/${from} may not import ${specifier}: only src/kube and src/apiserver know HTTP.` };
  }
  return undefined;
}

function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

function normalise(file: string, specifier: string): string {
  const parts = file.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}
