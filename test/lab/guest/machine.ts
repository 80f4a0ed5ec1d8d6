// The machine that QEMU plays, as its words: one like KubeVirt's, in the emulator alone (no KVM), with nothing in it
// but a console, a monitor and NICs. QEMU's `microvm` would have less, but its clock stood still at two boots of three.

export interface Nic {
  /** There already, in the namespace that QEMU runs in. */
  readonly tap: string;
  readonly mac: string;
  /** Told to the guest. 1500 where it is not said. */
  readonly mtu?: number;
  /** The guest sends whole checksums, as a wire that takes no others needs them (Open vSwitch's userspace). */
  readonly wholeChecksums?: true;
}

/** Open files that QEMU has from whoever starts it. */
export const consoleFd = 3;
export const monitorFd = 4;

const memoryMiB = 128;

const machines = {
  x64: { program: "qemu-system-x86_64", machine: "q35", cpu: "qemu64", console: "ttyS0" },
  arm64: { program: "qemu-system-aarch64", machine: "virt", cpu: "cortex-a57", console: "ttyAMA0" },
} as const;

/** `waits`: for another's memory, by the monitor's `migrate-incoming`; nothing boots. */
export function machineCommand(kernel: string, image: string, nics: readonly Nic[], waits = false): string[] {
  const { program, machine, cpu, console } = machines[process.arch === "arm64" ? "arm64" : "x64"];
  const words = [
    `${program} -nodefaults -no-user-config -display none -machine ${machine},accel=tcg -cpu ${cpu} -m ${memoryMiB}`,
    `-chardev socket,id=console,fd=${consoleFd} -serial chardev:console`,
    `-chardev socket,id=monitor,fd=${monitorFd} -mon chardev=monitor,mode=control`,
  ].flatMap((line) => line.split(" "));
  const parameters = `console=${console} mitigations=off random.trust_cpu=on`;
  return [
    ...words,
    "-kernel",
    kernel,
    "-initrd",
    image,
    "-append",
    parameters,
    ...nics.flatMap(({ tap, mac, mtu, wholeChecksums = false }, index) => [
      // With the header of virtio, in which a guest says that a checksum is only begun: as libvirt sets it up.
      "-netdev",
      `tap,id=nic${index},ifname=${tap},script=no,downscript=no,vhost=off,vnet_hdr=${wholeChecksums ? "off" : "on"}`,
      "-device",
      `virtio-net-pci,netdev=nic${index},mac=${mac},csum=on,guest_csum=on,romfile=${mtu ? `,host_mtu=${mtu}` : ""}`,
    ]),
    ...(waits ? ["-incoming", "defer"] : []),
  ];
}
