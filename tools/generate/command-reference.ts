// docs/cli.md, from the commands themselves: what --help prints is what the page says.
import type { Command } from "commander";

import { program, type Wiring } from "../../src/cli/program.ts";

/** Help runs no command. */
const nothing = {} as Wiring;

export async function commandReference(): Promise<string> {
  const top = await program({ line() {} }, nothing);
  const pages = [top, ...allCommands(top)].map((command) => {
    command.configureHelp({ helpWidth: 110 });
    return `## \`${pathOf(command)}\`\n\n\`\`\`\n${command.helpInformation().trim()}\n\`\`\``;
  });
  return [
    "# The command line",
    "Generated from the commands themselves (`npm run generate`): this is what `--help` prints.",
    ...pages,
    "",
  ].join("\n\n");
}

function allCommands(parent: Command): Command[] {
  return parent.commands.flatMap((child) => [child, ...allCommands(child)]);
}

function pathOf(command: Command): string {
  const parent = command.parent;
  return parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}
