// Builds Kubernetes into the cache and prints where: `node tools/bootstrap/enter.mjs tools/kube/main.ts [NAME...]`.
import { ensureKubeBinaries } from "./build.ts";
import { type ProgramName, programs } from "./programs.ts";

const chosen = process.argv.slice(2);
const known = programs.map(({ name }) => name);

if (chosen.includes("--help") || chosen.includes("-h")) {
  console.log(`usage: main.ts [NAME...]   builds what is missing of ${known.join(", ")}, and prints the folder`);
  process.exit(0);
}
const unknown = chosen.filter((name) => !known.some((each) => each === name));
if (unknown.length > 0) {
  console.error(`holdfast: no such program: ${unknown.join(", ")}; there are: ${known.join(", ")}`);
  process.exit(2);
}

try {
  const { folder } = await ensureKubeBinaries({
    log: (line) => console.error(`holdfast: ${line}`),
    ...(chosen.length > 0 && { only: chosen as ProgramName[] }),
  });
  console.log(folder);
} catch (error) {
  console.error(`holdfast: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
