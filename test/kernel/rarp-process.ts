// Waits on an interface of the namespace that it is started in for QEMU's announcement of a guest: `INTERFACE MAC`.
import { realClock } from "../../src/kube/clock.ts";
import { parseMac } from "../../src/net/mac.ts";
import { sawRarp } from "../../src/node/migration/rarp-watch.ts";

const [link = "", mac = ""] = process.argv.slice(2);
process.stdout.write("listening\n");
await sawRarp(link, parseMac(mac), realClock, new AbortController().signal);
process.stdout.write("seen\n");
