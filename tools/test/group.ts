// The leader of a process group, around one program: `node group.ts program arguments`. Promised: the program and all
// that it started end with whoever started this, however that one ended, kill -9 too: its end closes our stdin.
import { spawn } from "node:child_process";

const [program = "", ...args] = process.argv.slice(2);
/** To the whole group, this process with it. */
const endGroup = () => process.kill(0, "SIGKILL");

process.stdin.resume().on("end", endGroup).on("error", endGroup);
// Signals go to the group: the program decides what they mean, this process waits for it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
child.on("error", (error) => {
  console.error(`holdfast: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code) => process.exit(code ?? 1));
