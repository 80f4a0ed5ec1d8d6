// Says once, on an interface of the namespace that it is started in, that an address is at a MAC: `INTERFACE IP MAC`.
import { framesOf } from "../../src/migration/neighbours/frames.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parseMac } from "../../src/net/mac.ts";
import { sayOn } from "../../src/node/migration/management-port.ts";

const [link = "", address = "", mac = ""] = process.argv.slice(2);
const announcement = { node: "", address: parseAddress(address), mac: parseMac(mac), to: undefined };
sayOn(link, (sender) => framesOf(announcement, sender));
