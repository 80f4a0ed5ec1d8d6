// How a tool for a person says what it does, and how it ends.

export const log = (line: string): void => console.error(`holdfast: ${line}`);

/** `main` gives the exit code; what it throws is said in a sentence, without a stack. */
export async function runCommand(main: (args: readonly string[]) => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    log(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
