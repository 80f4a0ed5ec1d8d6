// What is generated, and from what. A generator gets the file's present text, so that it may own only a part of it.
import { commandReference } from "./command-reference.ts";
import { folderTable } from "./folder-table.ts";
import { manifests } from "./manifests.ts";
import { ovsdbShapes } from "./ovsdb-shapes.ts";
import { replaceSection } from "./section.ts";

export interface Generator {
  /** Path below the checkout. */
  readonly file: string;
  readonly render: (current: string) => string | Promise<string>;
}

export const generators: readonly Generator[] = [
  { file: "ARCHITECTURE.md", render: (current) => replaceSection(current, "folders", folderTable()) },
  { file: "docs/cli.md", render: () => commandReference() },
  ...manifests().map(({ file, text }) => ({ file, render: () => text })),
  ...ovsdbShapes(),
];
