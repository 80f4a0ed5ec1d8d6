// The oxlint plugin of this repository, `holdfast/`: import-directions, header-first, comment-width.
import { relative, sep } from "node:path";

import { judge } from "./directions.ts";

interface Literal {
  readonly value?: unknown;
}
interface ImportNode {
  readonly source?: Literal | null;
}
interface RuleContext {
  readonly filename: string;
  readonly cwd: string;
  report(descriptor: { node: unknown; message: string }): void;
}

const importDirections = {
  create(context: RuleContext) {
    const file = relative(context.cwd, context.filename).split(sep).join("/");
    const check = (node: ImportNode) => {
      const specifier = node.source?.value;
      if (typeof specifier !== "string") return;
      const violation = judge(file, specifier);
      if (violation !== undefined) context.report({ node: node.source, message: violation.message });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    };
  },
};

interface Ranged {
  readonly type: string;
  readonly range: readonly [number, number];
}

interface CommentContext extends RuleContext {
  readonly sourceCode: { readonly text: string; getAllComments(): readonly Ranged[] };
}

/** The formatter sorts imports and moves the comment above one with it: a header among them heads nothing any more. */
const headerFirst = {
  create(context: CommentContext) {
    return {
      Program(program: { readonly body: readonly Ranged[] }) {
        const imports = program.body.filter(({ type }) => type === "ImportDeclaration");
        const between = ({ range: [at] }: Ranged) =>
          at > imports[0]!.range[0] &&
          at < imports.at(-1)!.range[0] &&
          !imports.some(({ range }) => at > range[0] && at < range[1]);
        const slid = imports.length === 0 ? undefined : context.sourceCode.getAllComments().find(between);
        if (slid !== undefined) context.report({ node: slid, message: "A file's header stands above its imports." });
      },
    };
  },
};

const commentColumns = 120;

/** The formatter breaks code at 120 columns and leaves comments alone. A word that fits no line (a URL) may stay. */
const commentWidth = {
  create(context: CommentContext) {
    const { sourceCode } = context;
    const columns = ({ range: [start, end] }: Ranged) =>
      sourceCode.text
        .slice(sourceCode.text.lastIndexOf("\n", start - 1) + 1, end)
        .split(/\r?\n/)
        .filter((line) => !line.split(/\s+/).some((word) => "// ".length + word.length > commentColumns))
        .reduce((widest, { length }) => Math.max(widest, length), 0);
    return {
      Program() {
        for (const comment of sourceCode.getAllComments()) {
          const widest = columns(comment);
          if (widest <= commentColumns) continue;
          const message = `A comment line ends at column ${commentColumns} at the latest, this one at ${widest}.`;
          context.report({ node: comment, message: `${message} Say it in fewer words, or break the line.` });
        }
      },
    };
  },
};

export default {
  meta: { name: "holdfast" },
  rules: { "import-directions": importDirections, "header-first": headerFirst, "comment-width": commentWidth },
};
