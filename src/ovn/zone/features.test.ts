import { describe, expect, it } from "vitest";

import { featuresOf, parseVersion } from "./features.ts";

describe("what OVN can do, by the version that ovn-northd tells", () => {
  it.each([
    ["23.03.1-20.27.0-70.6", { arpProxy: "list", hasDhcpv6Fqdn: false }],
    ["22.12.0-20.25.0-70.6", { arpProxy: "list", hasDhcpv6Fqdn: false }],
    ["23.06.0-20.27.2-72.6", { arpProxy: "all", hasDhcpv6Fqdn: false }],
    ["23.09.0-20.29.0-74.6", { arpProxy: "all", hasDhcpv6Fqdn: true }],
    ["24.03.1-20.33.0-76.8", { arpProxy: "all", hasDhcpv6Fqdn: true }],
    ["25.03.0-20.41.0-78.8", { arpProxy: "all", hasDhcpv6Fqdn: true }],
    // The least where nothing is known.
    ["", { arpProxy: "list", hasDhcpv6Fqdn: false }],
    ["unknown", { arpProxy: "list", hasDhcpv6Fqdn: false }],
    [undefined, { arpProxy: "list", hasDhcpv6Fqdn: false }],
  ])("%s", (internal, features) => {
    expect(featuresOf(parseVersion(internal))).toEqual(features);
  });
});
