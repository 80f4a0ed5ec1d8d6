// A node's file system, as the commands that make it: the machine's own, with private copies of what a node writes.
//
// The machine's folders are below an overlay, so that whatever a node writes to /etc, /opt, /var/lib and /var/log stays
// in the node's folder and survives its restart. containerd's own folder is bound from there, because an overlay cannot
// stand on an overlay. /run is fresh at every start, as after a reboot.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const layered = ["/etc", "/opt", "/var/lib", "/var/log"];

/** Key: folder in the node's own folder. */
const bound: Readonly<Record<string, string>> = {
  kubelet: "/var/lib/kubelet",
  containerd: "/var/lib/containerd",
  "cni-net": "/etc/cni/net.d",
  "cni-bin": "/opt/cni/bin",
};

/** kubelet sets these for the whole machine; each node has its own file instead, with the value kubelet wants. */
const sysctls: Readonly<Record<string, string>> = {
  "vm/overcommit_memory": "1",
  "vm/panic_on_oom": "0",
  "kernel/panic": "10",
  "kernel/panic_on_oops": "1",
  "kernel/keys/root_maxkeys": "1000000",
  "kernel/keys/root_maxbytes": "25000000",
};

/** The folders and files that the mounts need, on the machine's side. */
export function prepareMounts(folder: string): void {
  for (const path of layered)
    for (const layer of ["upper", "work"]) mkdirSync(join(folder, layer, path), { recursive: true });
  for (const name of Object.keys(bound)) mkdirSync(join(folder, name), { recursive: true });
  mkdirSync(join(folder, "sysctl"), { recursive: true });
  for (const [name, value] of Object.entries(sysctls)) writeFileSync(sysctlFile(folder, name), `${value}\n`);
}

/** To be run inside the node's new mount namespace, in this order. */
export function mountCommands(folder: string): string[][] {
  const overlay = (path: string) =>
    `lowerdir=${path},upperdir=${join(folder, "upper", path)},workdir=${join(folder, "work", path)}`;
  return [
    ...layered.map((path) => ["mount", "-t", "overlay", "overlay", "-o", overlay(path), path]),
    ["mount", "-t", "tmpfs", "tmpfs", "/run"],
    ["mkdir", "-p", "/run/containerd", "/run/netns", ...Object.values(bound)],
    ...Object.entries(bound).map(([name, path]) => ["mount", "--bind", join(folder, name), path]),
    ...Object.keys(sysctls).map((name) => ["mount", "--bind", sysctlFile(folder, name), join("/proc/sys", name)]),
    // Volumes that kubelet mounts must be seen by containers that asked for propagation.
    ["mount", "--make-rshared", "/"],
  ];
}

const sysctlFile = (folder: string, name: string) => join(folder, "sysctl", name.replaceAll("/", "."));
