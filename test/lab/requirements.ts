// What the lab needs of a Debian machine, as data: tools/bootstrap/debian.ts installs it.

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
