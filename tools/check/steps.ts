// The steps of `npm run check`, each a command that anyone can run by itself.

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly remedy: string;
}

const node = (script: string, ...args: string[]) => [process.execPath, script, ...args];

export const steps: readonly Step[] = [
  { name: "types", command: ["node_modules/.bin/tsc", "-p", "."], remedy: "fix the types named above" },
  {
    name: "types of the browser-safe folders",
    command: ["node_modules/.bin/tsc", "-p", "tsconfig.pure.json"],
    remedy: "src/net and src/ipam use nothing of Node: take it as a parameter",
  },
  {
    name: "lint and import directions",
    command: node("node_modules/oxlint/bin/oxlint", "--type-aware", "--deny-warnings"),
    remedy: "fix what is named above; `npx oxlint --type-aware --fix` does the mechanical part",
  },
  { name: "format", command: node("node_modules/oxfmt/bin/oxfmt", "--check"), remedy: "npm run format" },
  {
    name: "unused files, exports and dependencies",
    command: node("node_modules/knip/bin/knip.js", "--no-progress"),
    remedy: "delete what is dead",
  },
  {
    name: "suites of the test files",
    command: node("tools/test/main.ts", "--list"),
    remedy: "name the test's suite before .test.ts (tools/test/suites.ts has them), or no run will have it",
  },
  {
    name: "generated files",
    command: node("tools/generate/main.ts", "--check"),
    remedy: "npm run generate, and commit what changed",
  },
];
