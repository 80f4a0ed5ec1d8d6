// Every suite that `npm test` runs, and what it needs of the machine. A file's name says its suite: NAME.SUITE.test.ts
// below test/, with .full before .test.ts where only `npm run test:full` runs it, plain NAME.test.ts beside its source.
import { guestUnpackedPackages } from "../../test/lab/guest/requirements.ts";
import { ovnDebianPackages } from "../../test/lab/ovn/requirements.ts";
import { labDebianPackages } from "../../test/lab/requirements.ts";
import type { ProgramName } from "../kube/programs.ts";

export interface Suite {
  readonly name: string;
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
   * With which others it runs (lanes.ts). `together`: they compute. `crowd`: they mostly wait and start few processes.
   * `few`: each starts programs that load the machine. `nodes`: they wait for pods. `programs`: processes, clients and
   * guests; Kubernetes is not needed, so that they run while it is built.
   */
  readonly at: "together" | "crowd" | "few" | "nodes" | "programs";
  /** A required suite that is skipped makes CI fail. */
  readonly required: boolean;
}

/** What compiles the native shim. */
const shimDebianPackages: readonly string[] = ["binutils", "clang", "libc6-dev", "lld", "util-linux"];

/** DHCP clients. `busybox` would remove its rival busybox-static, and with it the image of the lab's pods. */
const clientDebianPackages: readonly string[] = [
  "busybox-static",
  "dhcpcd-base",
  "isc-dhcp-client",
  "systemd",
  "udhcpc",
];

const controlPlane: readonly ProgramName[] = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"];
const everything: readonly ProgramName[] = [...controlPlane, "kube-scheduler", "kubelet", "cnitool"];

export const suites: readonly Suite[] = [
  {
    name: "unit",
    about: "the code, beside its source; files, journals and the repository itself",
    debian: ["openssl"],
    at: "together",
    required: true,
  },
  {
    name: "browser",
    about: "the browser-safe folders in a real Chromium",
    debian: ["chromium"],
    at: "together",
    required: true,
  },
  {
    name: "embedded",
    about: "everything on the embedded Kubernetes API, within the test's own process",
    debian: ["openssl"],
    at: "crowd",
    required: true,
  },
  {
    name: "process",
    about:
      "programs as processes, compiled, stopped and killed: the shim, the embedded API, migrations; Debian's kubectl, host-local, tshark and ovsdb-server",
    debian: [
      ...shimDebianPackages,
      "containernetworking-plugins",
      "openssl",
      "openvswitch-common", // ovsdb-server, ovsdb-client, ovsdb-tool; no service comes with it
      "strace",
      "tshark",
    ],
    // The two of Open vSwitch and OVN for their schemas only: installed, they would start services.
    unpacked: ["kubernetes-client", "openvswitch-switch", "ovn-central"],
    at: "programs",
    required: true,
  },
  {
    name: "real",
    about: "the real etcd, kube-apiserver, kube-controller-manager and kubectl; OVN's databases and ovn-northd",
    debian: [...shimDebianPackages, "containernetworking-plugins", "openssl", "openvswitch-common"],
    unpacked: ["ovn-central"],
    kube: controlPlane,
    at: "few",
    required: true,
  },
  {
    name: "kernel",
    about:
      "namespaces, packet sockets and probes on a real Ethernet of bridges and macvlans; Debian's DHCP clients, QEMU guests, OVN",
    debian: [...ovnDebianPackages, ...clientDebianPackages, "iproute2", "tshark", "util-linux"],
    unpacked: [...guestUnpackedPackages, "isc-dhcp-relay"], // installed, the relay would be a service
    root: true,
    at: "programs",
    required: true,
  },
  {
    name: "podman",
    about: "containers of podman's CNI backend, without a cluster",
    debian: [...labDebianPackages, ...shimDebianPackages, "conmon", "podman"],
    root: true,
    kube: [...controlPlane, "cnitool"],
    at: "nodes",
    required: true,
  },
  {
    name: "nodes",
    about: "real kubelets and pods on several nodes, Holdfast on them, and its image",
    debian: [...labDebianPackages, ...shimDebianPackages],
    root: true,
    kube: everything,
    at: "nodes",
    required: true,
  },
];

/** Folders whose tests stand beside their source, and need nothing. */
const besideSource = /^(?:src|tools|bench|test\/lab)\//;

/** Volume alone: what it tells is told by others too, in fewer rounds. Only `npm run test:full` runs it. */
export function isFullOnly(file: string): boolean {
  return file.endsWith(".full.test.ts");
}

/** Undefined for a name below test/ that says none, or one that there is not. */
export function suiteOf(file: string): Suite | undefined {
  const suffix = besideSource.test(file) ? "unit" : /\.(\w+?)(?:\.full)?\.test\.ts$/.exec(file)?.[1];
  return suites.find(({ name }) => name === suffix);
}
