// The command-line tool, wired up. The commands are in src/cli.
import { run } from "../src/cli/program.ts";

// Whoever read our words has gone (`| head`): what was begun is ended all the same, without them.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

process.exitCode = await run(
  process.argv.slice(2),
  { line: (text) => process.stdout.write(`${text}\n`) },
  (text) => process.stderr.write(`${text}\n`),
  // Loaded when it is asked for: `holdfast explain` needs neither an API server nor an HTTP client.
  {
    adopt: async (...given) => (await import("./claims.ts")).adopt(...given),
    agent: async (options) => (await import("./agent.ts")).agent(options),
    check: async (options) => (await import("./check.ts")).check(options),
    claims: {
      list: async (...given) => (await import("./claims.ts")).claims.list(...given),
      export: async (...given) => (await import("./claims.ts")).claims.export(...given),
      takeover: async (...given) => (await import("./claims.ts")).claims.takeover(...given),
      installCrd: async (...given) => (await import("./claims.ts")).claims.installCrd(...given),
      releaseFinalizers: async (...given) => (await import("./claims.ts")).claims.releaseFinalizers(...given),
    },
    cni: async (options) => (await import("./shims.ts")).shims(options),
    coexistence: {
      status: async (...given) => (await import("./coexistence.ts")).coexistence.status(...given),
      say: async (...given) => (await import("./coexistence.ts")).coexistence.say(...given),
    },
    controller: async (options) => (await import("./controller.ts")).controller(options),
    demo: {
      add: async (...given) => (await import("./demo.ts")).demo.add(...given),
      del: async (...given) => (await import("./demo.ts")).demo.del(...given),
    },
    dhcp: async (options, output) => (await import("./dhcp.ts")).trace(options, output),
    import: async (...given) => (await import("./transfer.ts")).takeOver(...given),
    leases: async (...given) => (await import("./look.ts")).leases(...given),
    migrate: {
      plan: async (...given) => (await import("./transfer.ts")).migrate.plan(...given),
      apply: async (...given) => (await import("./transfer.ts")).migrate.apply(...given),
      rollback: async (...given) => (await import("./transfer.ts")).migrate.rollback(...given),
    },
    migrations: async (...given) => (await import("./look.ts")).migrations(...given),
    node: async (options) => (await import("./node.ts")).node(options),
    pools: async (options) => (await import("./look.ts")).pools(options),
    slices: {
      list: async (...given) => (await import("./slices.ts")).list(...given),
      release: async (...given) => (await import("./slices.ts")).release(...given),
    },
    up: async (options, output) => (await import("./up.ts")).up(options, output),
    who: async (options, asked) => (await import("./look.ts")).who(options, asked),
  },
);
