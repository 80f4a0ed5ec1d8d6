// What OVN can do, by its version. Where it lacks something nothing says so: it installs no flow, or not the right one.
//
// ovn-northd writes its version into NB_Global. Upgrades go from the chassis to ovn-northd, so no chassis is older.

export interface OvnVersion {
  readonly major: number;
  readonly minor: number;
}

export interface OvnFeatures {
  /**
   * What the option arp_proxy takes: `all` is a MAC, addresses of both families and prefixes (from 23.06 on). `list`:
   * single IPv4 addresses, answered with the router port's own MAC; of anything else nothing is made, silently.
   */
  readonly arpProxy: "all" | "list";
  /** DHCPv6 option 39 (from 23.09 on). A chassis that does not know it drops every DHCPv6 answer of the port. */
  readonly hasDhcpv6Fqdn: boolean;
}

/** NB_Global.options:northd_internal_version, such as `23.03.1-20.27.0-70.6`. Undefined: it says none. */
export function parseVersion(internal: string | undefined): OvnVersion | undefined {
  const found = /^(\d{2})\.(\d{1,2})\b/.exec(internal ?? "");
  return found === null ? undefined : { major: Number(found[1]), minor: Number(found[2]) };
}

/** Of an unknown version the least is expected. */
export function featuresOf(version: OvnVersion | undefined): OvnFeatures {
  const isFrom = (major: number, minor: number) =>
    version !== undefined && (version.major > major || (version.major === major && version.minor >= minor));
  return { arpProxy: isFrom(23, 6) ? "all" : "list", hasDhcpv6Fqdn: isFrom(23, 9) };
}
