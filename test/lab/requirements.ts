// What the lab needs of a Debian machine, as data: tools/bootstrap/debian.ts installs it.

/** For a control plane without nodes. */
export const controlPlaneDebianPackages: readonly string[] = ["openssl", "util-linux"];

/** For everything: nodes, images, the default network. */
export const labDebianPackages: readonly string[] = [
  ...controlPlaneDebianPackages,
  "busybox-static", // the image that pods run
  "containerd",
  "containernetworking-plugins", // bridge, macvlan, host-local
  "gcc", // compiles pause, once
  "iproute2",
  "iptables", // kubelet and the bridge plugin's masquerading look for it
  "libc6-dev",
  "procps", // sysctl
  "runc",
];
