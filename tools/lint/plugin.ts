// The oxlint plugin of this repository: one rule, `holdfast/import-directions`.
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

export default { meta: { name: "holdfast" }, rules: { "import-directions": importDirections } };
