// A guest's whole system, unpacked into its memory at each boot: busybox, modules, and the files of a test.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { unpackedFolder } from "../../../tools/bootstrap/unpacked.ts";
import { cpio, type CpioFile } from "./cpio.ts";
import type { GuestKernel } from "./kernel.ts";
import { busyboxPackage } from "./requirements.ts";

/** What the guest says when its devices are there and it takes commands. */
export const readyWord = "the guest is ready";

/** A NIC, and the bus that it is on. */
const virtio = ["virtio_pci", "virtio_net"];

export function guestImage(
  kernel: GuestKernel,
  { modules = [], files = [] }: { readonly modules?: readonly string[]; readonly files?: readonly CpioFile[] },
): Buffer {
  const needed = kernel.modules([...virtio, ...modules]);
  return cpio(
    [
      { path: "bin/busybox", content: readFileSync(join(unpackedFolder(busyboxPackage), "bin/busybox")) },
      { path: "init", content: init(needed.map(({ name }) => name)) },
      ...needed.map(({ name, content }) => ({ path: `modules/${name}.ko`, content })),
      ...files,
    ],
    ["dev", "proc", "run", "sys"],
  );
}

/**
 * The kernel tells of its boot, and is quiet from here on: what commands print is theirs alone. Every line that comes
 * in by the console is a command. Process 1 must not end: the kernel would stop with it.
 */
const init = (modules: readonly string[]) => `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
stty -echo
dmesg -n 1
for module in ${modules.join(" ")}; do insmod /modules/$module.ko; done
ip link set lo up
if test -e /boot.sh; then /boot.sh > /run/boot.log 2>&1 < /dev/null & fi
echo ${readyWord}
while :; do read -r line && eval "$line" || sleep 1; done
`;
