// The embedded API in a process of its own: node serve.ts DATABASE TOKEN.
import { openApi } from "../../src/apiserver/api.ts";
import { serve } from "../../src/apiserver/serve/server.ts";

const [path, token] = process.argv.slice(2);
const server = await serve(openApi({ path: path! }), { token: token! });
process.stdout.write(`${JSON.stringify({ url: server.url, certificate: server.certificate })}\n`);
