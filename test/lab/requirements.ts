// The lab's needs of a machine: as Debian packages, for tools/bootstrap/debian.ts, and as the programs themselves.
import { accessSync, constants } from "node:fs";
import { join } from "node:path";

/** A control plane without nodes needs openssl and util-linux only. */
export const labDebianPackages: readonly string[] = [
  "busybox-static", // the image that pods run
  "containerd",
  "containernetworking-plugins", // bridge, macvlan, host-local
  "gcc", // compiles pause, once
  "iproute2",
  "iptables", // kubelet and the bridge plugin's masquerading look for it
  "libc6-dev",
  "openssl",
  "procps", // sysctl
  "runc",
  "util-linux", // nsenter, unshare, setpriv, flock
];

const forControlPlane = ["openssl", "setpriv", "flock"];
const forNodes = [
  "nsenter",
  "unshare",
  "ip",
  "sysctl",
  "containerd",
  "ctr",
  "runc",
  "/usr/lib/cni/bridge",
  "/bin/busybox",
];

/** Throws before anything is started, with everything that is missing at once. */
export function requirePrograms(withNodes: boolean, path: string = process.env["PATH"] ?? ""): void {
  const folders = path.split(":");
  const isThere = (program: string) =>
    program.startsWith("/") ? isExecutable(program) : folders.some((folder) => isExecutable(join(folder, program)));
  const missing = [...forControlPlane, ...(withNodes ? forNodes : [])].filter((program) => !isThere(program));
  if (missing.length === 0) return;
  throw new Error(
    `this machine lacks ${missing.join(", ")}: on Debian, apt-get install --no-install-recommends ${labDebianPackages.join(" ")}`,
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
