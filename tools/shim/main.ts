// Builds the shim into the cache, prints where: `node tools/bootstrap/enter.mjs tools/shim/main.ts [native|fallback]`.
import { ensureShim } from "./ensure.ts";

const chosen = process.argv.slice(2);
const known = ["native", "fallback"];
const wanted = chosen.length === 0 ? known : chosen;

if (chosen.includes("--help") || chosen.includes("-h")) {
  console.log("usage: main.ts [native] [fallback]   builds what is missing, both without a word, and prints the files");
  process.exit(0);
}
const unknown = chosen.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`holdfast: no such build: ${unknown.join(", ")}; there are: ${known.join(", ")}`);
  process.exit(2);
}

try {
  for (const name of wanted) {
    const { path } = await ensureShim({
      native: name === "native",
      log: (line) => console.error(`holdfast: ${line}`),
    });
    console.log(path);
  }
} catch (error) {
  console.error(`holdfast: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
