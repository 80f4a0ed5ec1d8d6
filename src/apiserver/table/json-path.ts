// The small JSONPath of printer columns: .a.b, ['a'], [0], [*], [?(@.x=="y")], with or without braces.
import { dig, isObject, type JsonValue, textOf } from "../json.ts";

type Step = (values: JsonValue[]) => JsonValue[];

const token =
  /^(?:\.?\[\s*\?\(\s*@((?:\.[\w-]+)+)\s*==\s*["']([^"']*)["']\s*\)\s*\]|\.?\[\s*['"]([^'"]+)['"]\s*\]|\.?\[\s*(\*|-?\d+)\s*\]|\.((?:\\\.|[^.[\]])+))/;

/** Undefined where the path is not of the supported form. */
export function parsePath(text: string): ((value: JsonValue) => JsonValue[]) | undefined {
  let rest = text.replace(/^\{|\}$/g, "").replace(/^\$/, "");
  const steps: Step[] = [];
  while (rest !== "" && rest !== ".") {
    const match = token.exec(rest);
    if (match === null) return undefined;
    steps.push(stepOf(match));
    rest = rest.slice(match[0].length);
  }
  return (value) => steps.reduce((values, step) => step(values), [value]);
}

function stepOf([, filterPath, filterValue, quoted, index, name]: RegExpExecArray): Step {
  if (filterPath !== undefined) {
    const path = filterPath.slice(1).split(".");
    return (values) => values.flatMap(itemsOf).filter((item) => textOf(dig(item, ...path)) === filterValue);
  }
  if (index === "*") return (values) => values.flatMap(itemsOf);
  if (index !== undefined) {
    return (values) =>
      values.flatMap((value) => {
        const found = Array.isArray(value) ? value.at(Number(index)) : undefined;
        return found === undefined ? [] : [found];
      });
  }
  const key = quoted ?? name!.replaceAll("\\.", ".");
  return (values) =>
    values.flatMap((value) => {
      const found = isObject(value) ? value[key] : undefined;
      return found === undefined ? [] : [found];
    });
}

function itemsOf(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value).filter((item) => item !== undefined) : [];
}
