// The process in the namespace behind relay.ts. `accept HOST PORT`: takes its parent's listening socket and joins its
// connections to HOST:PORT as seen from here. `listen HOST`: gives a listening socket of here to its parent, and ends.
import { createServer, type Server } from "node:net";

import { joinTo } from "./relay-join.ts";

const [mode, host = "127.0.0.1", port = "0"] = process.argv.slice(2);

if (mode === "accept") {
  process.once("message", (_message: unknown, server: Server) => {
    server.on("connection", joinTo({ host, port: Number(port) }));
    process.send?.("listening");
  });
} else {
  const server = createServer();
  server.listen(0, host, () => process.send?.("socket", server, {}, () => process.exit(0)));
}
