// The OVN lab's needs of a machine, as Debian packages to install. OVN itself is unpacked (packages.ts).
import { guestDebianPackages } from "../guest/requirements.ts";
import { dhclientPackage } from "./guest-dhclient.ts";

export const ovnDebianPackages: readonly string[] = [
  ...guestDebianPackages,
  dhclientPackage, // run in guests alone
  "ethtool",
  "iproute2",
  "iputils-ping", // a probe every 10 ms, with the time of each answer
];
