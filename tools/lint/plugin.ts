// The oxlint plugin of this repository: `holdfast/import-directions`, and `holdfast/header-first`.
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

/** The formatter sorts imports and takes the comment above one along: a header that slides among them heads nothing any more. */
const headerFirst = {
  create(context: RuleContext & { readonly sourceCode: { getAllComments(): readonly Ranged[] } }) {
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

export default {
  meta: { name: "holdfast" },
  rules: { "import-directions": importDirections, "header-first": headerFirst },
};
