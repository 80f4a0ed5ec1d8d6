// The command-line tool. What V8 made of our sources is kept beside the packages, so that the next start need not read types and compile again: a
// controller that is started anew has its modules after 0.3 s instead of 0.8. Where that folder cannot be written nothing is kept.
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Owned by whoever installed the packages: what is run is as safe there as the packages are.
const folder = fileURLToPath(new URL("../node_modules/.cache/holdfast", import.meta.url));
enableCompileCache(process.env["NODE_COMPILE_CACHE"] ?? folder);
await import("./program.ts");
