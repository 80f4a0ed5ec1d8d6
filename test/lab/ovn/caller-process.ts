// A server that tells each caller under which address it has come: `node caller-process.ts HOST PORT`.
import { createServer } from "node:net";

const [host = "", port = ""] = process.argv.slice(2);
createServer((socket) => {
  socket.on("error", () => {}); // the caller has gone
  socket.end(`${socket.remoteAddress}\n`);
}).listen(Number(port), host, () => console.log("ready"));
