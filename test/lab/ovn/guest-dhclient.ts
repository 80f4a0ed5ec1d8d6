// Debian's dhclient with its libraries, as files of a guest: busybox has no client of DHCPv6. The machine's own one.
import { readFileSync } from "node:fs";

import { run } from "../command.ts";
import type { CpioFile } from "../guest/cpio.ts";

export const dhclientPackage = "isc-dhcp-client";
const program = "/sbin/dhclient";

/**
 * The address comes from DHCPv6, alone on its link (/128); the way out from whoever says that it is a router. The
 * link-local address has to be nobody else's first, which takes the kernel a second.
 */
export const bootScript6 = `#!/bin/sh
until ip -6 addr show dev eth0 scope link | grep -v tentative | grep -q inet6; do sleep 0.2; done
mkdir -p /var/lib/dhcp /var/run
exec /sbin/dhclient -6 -d -sf /lease6.sh -cf /dev/null -lf /run/dhclient6.leases -pf /run/dhclient6.pid eth0
`;
export const leaseScript6 = `#!/bin/sh
case "$reason" in
BOUND6|RENEW6|REBIND6)
  ip -6 addr replace $new_ip6_address/128 dev eth0
  until ! ip -6 addr show dev eth0 | grep -q tentative; do sleep 0.2; done
  env > /run/lease6.new
  mv /run/lease6.new /run/lease6 ;;
esac
`;

/** `/lib/x86_64-linux-gnu/libc.so.6` of `libc.so.6 => /lib/... (0x...)`, and the loader, which stands by itself. */
const library = /(?:=> )?(\/\S+) \(0x/;

export async function dhclientFiles(): Promise<readonly CpioFile[]> {
  const told = await run(["ldd", program]);
  const libraries = told.split("\n").flatMap((line) => library.exec(line)?.[1] ?? []);
  return [program, ...libraries].map((path) => ({ path: path.slice(1), content: readFileSync(path) }));
}
