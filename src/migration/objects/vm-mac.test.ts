// MACs that ovn-kubernetes was seen to give.
import { expect, it } from "vitest";

import { parseAddress } from "../../net/address.ts";
import { macOfAddresses } from "./vm-mac.ts";

it.each([
  [["10.244.2.26"], "0a:58:0a:f4:02:1a"], // the seed's example
  [["10.244.0.4", "fd10:244:0:1::4"], "0a:58:0a:f4:00:04"],
  [["fd10:244:0:1::4", "10.244.0.4"], "0a:58:0a:f4:00:04"],
  [["169.254.1.1"], "0a:58:a9:fe:01:01"], // the proxy's
  [["fe80::1"], "0a:58:6d:6d:c1:50"], // server_id of DHCPv6
])("of %j is %s", (addresses, mac) => {
  expect(macOfAddresses(addresses.map((each) => parseAddress(each)))).toBe(mac);
});

it("of nothing there is none", () => {
  expect(macOfAddresses([])).toBeUndefined();
});
