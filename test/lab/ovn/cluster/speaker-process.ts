// Sends whole frames by a link of the network namespace that it is started in, as a node's daemon does:
// `node speaker-process.ts LINK`; each line of its input is the frames to send, in hexadecimal, with spaces between.
import { createInterface } from "node:readline";

import { openPacketSocket } from "../../../../src/dhcp/socket/packet-socket.ts";
import { SendBatch } from "../../../../src/dhcp/socket/send-batch.ts";
import { deviceOf, openQueries } from "../../../../src/linux/device.ts";

const [name = ""] = process.argv.slice(2);
const socket = openPacketSocket(name, deviceOf(openQueries(), name)!, undefined);
const batch = new SendBatch();
console.log("ready");
createInterface({ input: process.stdin }).on("line", (line) => {
  for (const frame of line.split(" ")) {
    batch.addFrame(Buffer.from(frame, "hex"));
    if (batch.isFull) batch.flush(socket);
  }
  batch.flush(socket);
});
