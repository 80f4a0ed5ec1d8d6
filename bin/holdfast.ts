// The command-line tool: wiring only. The commands are in src/cli.
import { program } from "../src/cli/program.ts";

await program().parseAsync(process.argv);
