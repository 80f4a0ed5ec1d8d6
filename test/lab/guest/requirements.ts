// A guest's needs of a machine, as Debian packages: an emulator to install; a kernel and a shell, which nobody runs on
// the machine itself, to unpack beside the system.

const isArm = process.arch === "arm64";

export const guestDebianPackages: readonly string[] = [
  isArm ? "qemu-system-arm" : "qemu-system-x86",
  "util-linux", // nsenter, setpriv
  "xz-utils", // modules are compressed from Debian 13 on
];

/** Debian's smallest kernel, and the one with the fewest devices to look for. */
export const kernelPackage = isArm ? "linux-image-cloud-arm64" : "linux-image-cloud-amd64";

/** Without libraries. A machine may have the package `busybox` in its place. */
export const busyboxPackage = "busybox-static";

export const guestUnpackedPackages: readonly string[] = [busyboxPackage, kernelPackage];
