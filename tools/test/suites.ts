// Every suite that `npm test` runs, and what it needs of the machine.
import { labDebianPackages } from "../../test/lab/requirements.ts";
import type { ProgramName } from "../kube/programs.ts";

export interface Suite {
  readonly name: string;
  /** Test files whose path below the checkout begins with one of these. Every test file belongs to one suite. */
  readonly files: readonly string[];
  readonly about: string;
  /** Debian packages that the suite uses for real. */
  readonly debian?: readonly string[];
  /** Debian packages unpacked beside the system, because the machine may have another version of the same program. */
  readonly unpacked?: readonly string[];
  /** It makes namespaces, mounts and cgroups. */
  readonly root?: true;
  /** Real Kubernetes programs, built from source once per version. */
  readonly kube?: readonly ProgramName[];
  /**
   * Each of its files starts processes of its own. `alone`: one at a time, since it loads the machine with nodes and pods.
   * `few`: two at a time, since it mostly waits, and beside the former. `crowd`: six at a time, since it does little else and starts no process. Otherwise as
   * many as there are cores.
   */
  readonly serial?: "alone" | "few" | "crowd";
  /** A required suite that is skipped makes CI fail. */
  readonly required: boolean;
}

/** What compiles the native shim. */
const shimDebianPackages: readonly string[] = ["binutils", "clang", "libc6-dev", "lld", "util-linux"];

const controlPlane: readonly ProgramName[] = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"];
const everything: readonly ProgramName[] = [...controlPlane, "kube-scheduler", "kubelet", "cnitool"];

export const suites: readonly Suite[] = [
  {
    name: "unit",
    files: ["src/", "tools/", "test/lab/", "bench/"],
    about: "the code, beside its source",
    debian: ["openssl"],
    required: true,
  },
  {
    name: "ports",
    files: [
      "test/conformance/ledger/memory",
      "test/conformance/ledger/embedded",
      "test/conformance/ledger/journal",
      "test/ledger/embedded",
      "test/journal/",
    ],
    about: "one suite per port, run by every implementation of it",
    required: true,
  },
  {
    name: "shim",
    files: ["test/shim/"],
    about: "the executable that runtimes start, compiled and on Node, against daemons that answer, hang and die",
    debian: [...shimDebianPackages, "strace"],
    serial: "few",
    required: true,
  },
  {
    name: "repository",
    files: ["test/repository/"],
    about: "`npm run check`, the launcher, the bootstrap, the import directions",
    required: true,
  },
  {
    name: "browser",
    files: ["test/browser/"],
    about: "the browser-safe folders in a real Chromium",
    debian: ["chromium"],
    required: true,
  },
  {
    name: "embedded API",
    files: [
      "test/conformance/api/embedded",
      "test/conformance/kinds/embedded",
      "test/conformance/runtime/embedded",
      "test/node/embedded",
      "test/node/outage",
      "test/node/restore",
      "test/node/herd",
      "test/pools/embedded",
      "test/apiserver/",
      "test/transfer/embedded",
      "test/transfer/host-local",
      "test/transfer/kill",
      "test/e2e/up",
    ],
    about: "the embedded Kubernetes API: conformance, kubectl, kill -9, `holdfast up`",
    debian: ["containernetworking-plugins", "openssl"],
    unpacked: ["kubernetes-client"],
    kube: controlPlane,
    serial: "few",
    required: true,
  },
  {
    name: "node slices",
    files: [
      "test/slices/keeper-",
      "test/slices/leader",
      "test/slices/audit",
      "test/slices/check",
      "test/slices/left-behind",
      "test/slices/stories-embedded",
    ],
    about: "sliced ranges on the embedded API: leaders and nodes that join, leave, lend, are cut off and are killed",
    serial: "crowd",
    required: true,
  },
  {
    name: "persistent addresses",
    files: [
      "test/claims/checker",
      "test/claims/cli-embedded",
      "test/claims/cli-leader",
      "test/claims/daemon-embedded",
      "test/claims/daemon-sliced",
      "test/claims/kubevirt-embedded",
      "test/claims/leader-doubt",
      "test/claims/leader-downtime",
      "test/claims/leader-gate",
      "test/claims/leader-life",
      "test/claims/leader-mass",
      "test/claims/leader-size",
      "test/claims/random-embedded",
      "test/claims/random-shrink",
      "test/claims/setup-embedded",
      "test/claims/stories-outcomes",
      "test/claims/stories-rows",
      "test/claims/webhook-embedded",
    ],
    about: "claims of VMs on the embedded API: KubeVirt played, everything at random, and a checker of every change",
    // Most of its time is spent waiting for what others do.
    serial: "crowd",
    required: true,
  },
  {
    name: "real API server",
    files: [
      "test/conformance/api/real",
      "test/conformance/api/differential",
      "test/conformance/kinds/real",
      "test/conformance/ledger/real",
      "test/ledger/real",
      "test/conformance/runtime/real",
      "test/node/real",
      "test/node/chaos",
      "test/pools/real",
      "test/slices/real-keeper",
      "test/slices/stories-real",
      "test/transfer/real",
      "test/claims/cli-real",
      "test/claims/daemon-real",
      "test/claims/kubevirt-real",
      "test/claims/leader-real",
      "test/claims/random-real",
      "test/claims/setup-real",
      "test/claims/stories-real",
      "test/claims/webhook-real",
      "test/deploy/rights",
    ],
    about: "the same conformance suites on the real kube-apiserver, random stories on both, and what deploy/ grants",
    debian: ["openssl"],
    kube: controlPlane,
    serial: "few",
    required: true,
  },
  {
    name: "kernel",
    files: ["test/kernel/"],
    about: "namespaces, packet sockets and probes on a real Ethernet of bridges and macvlans",
    debian: ["iproute2"],
    root: true,
    serial: "few",
    required: true,
  },
  {
    name: "cluster",
    files: ["test/cluster/", "test/deploy/image", "test/deploy/cluster"],
    about: "real kubelets and pods on several nodes, Holdfast on them, and its image",
    debian: [...labDebianPackages, ...shimDebianPackages],
    root: true,
    kube: everything,
    serial: "alone",
    required: true,
  },
  {
    name: "podman",
    files: ["test/podman/"],
    about: "containers of podman's CNI backend, without a cluster",
    debian: [...labDebianPackages, ...shimDebianPackages, "conmon", "podman"],
    root: true,
    kube: [...controlPlane, "cnitool"],
    serial: "few",
    required: true,
  },
  {
    name: "complaints",
    files: ["test/complaints/"],
    about:
      "what users of whereabouts complained of, and what others get wrong with claims, each shown not to happen here (docs/complaints.md)",
    debian: ["openssl", ...shimDebianPackages],
    kube: controlPlane,
    serial: "few",
    required: true,
  },
];

export function suiteOf(file: string): Suite | undefined {
  return suites.find(({ files }) => files.some((prefix) => file.startsWith(prefix)));
}
