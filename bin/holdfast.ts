// The command-line tool: wiring only. The commands are in src/cli.
import { run } from "../src/cli/program.ts";

process.exitCode = await run(
  process.argv.slice(2),
  { line: (text) => process.stdout.write(`${text}\n`) },
  (text) => process.stderr.write(`${text}\n`),
  // Loaded when it is asked for: `holdfast explain` needs neither an API server nor an HTTP client.
  {
    up: async (options, output) => (await import("./up.ts")).up(options, output),
    controller: async (options) => (await import("./controller.ts")).controller(options),
    check: async (options) => (await import("./check.ts")).check(options),
    pools: async (options) => (await import("./check.ts")).pools(options),
    who: async (options, asked) => (await import("./check.ts")).who(options, asked),
    node: async (options) => (await import("./node.ts")).node(options),
  },
);
