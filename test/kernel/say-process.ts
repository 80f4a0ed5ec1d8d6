// Says once, on an interface of the namespace that it is started in, that an address is at a MAC: `INTERFACE IP MAC`;
// or as QEMU does for a guest of that MAC (`... rarp`, net/announce.c).
import { framesOf } from "../../src/migration/neighbours/frames.ts";
import { parseAddress } from "../../src/net/address.ts";
import { macToBytes, parseMac } from "../../src/net/mac.ts";
import { sayOn } from "../../src/node/migration/management-port.ts";

const [link = "", address = "", text = "", kind = ""] = process.argv.slice(2);
const mac = parseMac(text);
const announcement = { node: "", address: parseAddress(address), mac, to: undefined };

function rarp(): Uint8Array {
  const own = macToBytes(mac);
  const nobody = [0, 0, 0, 0];
  const head = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ...own, 0x80, 0x35];
  const packet = [0, 1, 8, 0, 6, 4, 0, 3, ...own, ...nobody, ...own, ...nobody];
  return Uint8Array.from([...head, ...packet, ...new Uint8Array(18)]);
}

sayOn(link, (sender) => (kind === "rarp" ? [rarp()] : framesOf(announcement, sender)));
