// Every suite that `npm test` runs, and what it needs of the machine.

export interface Suite {
  readonly name: string;
  /** Folder or file prefix below the checkout; vitest takes them as filters. */
  readonly files: readonly string[];
  readonly about: string;
  /** Debian packages that the suite uses for real. */
  readonly debian: readonly string[];
  /** A required suite that is skipped makes CI fail. */
  readonly required: boolean;
}

export const suites: readonly Suite[] = [
  { name: "unit", files: ["src/"], about: "the code, beside its source", debian: [], required: true },
  {
    name: "conformance",
    files: ["test/conformance/"],
    about: "one suite per port, run by every implementation of it",
    debian: [],
    required: true,
  },
  {
    name: "repository",
    files: ["test/repository/"],
    about: "`npm run check`, the launcher, the bootstrap, the import directions",
    debian: [],
    required: true,
  },
  {
    name: "browser",
    files: ["test/browser/"],
    about: "the browser-safe folders in a real Chromium",
    debian: ["chromium"],
    required: true,
  },
];
