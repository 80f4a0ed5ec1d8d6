// A server process to be killed: node serve-process.ts DATABASE PORT TOKEN. Prints URL and certificate when it serves.
import { openApi } from "../../src/apiserver/api.ts";
import { serve } from "../../src/apiserver/serve/server.ts";

const [path, port, token] = process.argv.slice(2);
const api = openApi({ path: path! });
const server = await serve(api, { port: Number(port), token: token! });
process.stdout.write(`${JSON.stringify({ url: server.url, certificate: server.certificate })}\n`);
