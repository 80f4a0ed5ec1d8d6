import { expect, test } from "vitest";

import { ip } from "../../test/dhcp/packet.ts";
import { parseRelays } from "./relays.ts";

test("no relay is answered by default; links and one address can be named", () => {
  expect(parseRelays([])).toEqual({ onLinks: false, address: undefined });
  expect(parseRelays(["links"])).toEqual({ onLinks: true, address: undefined });
  expect(parseRelays(["10.1.0.5", "links"])).toEqual({ onLinks: true, address: ip("10.1.0.5") });
});

test.each([
  [["eth1"], "--relay eth1 cannot be read: write links, or an IPv4 address of this host."],
  [["fd00::1"], "--relay fd00::1 cannot be read"],
  [["10.1.0.5", "10.1.0.6"], "--relay names 10.1.0.5 and 10.1.0.6: give one address"],
])("%j is refused with what to write", (words, message) => {
  expect(() => parseRelays(words)).toThrow(message);
});
