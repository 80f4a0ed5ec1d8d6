import { describe, expect, test } from "vitest";

import { evaluate } from "./evaluate.ts";
import { parseCel } from "./parse.ts";
import { evaluateRules, faultOf, valueOf } from "./rules.ts";

const of = (source: string, self: unknown = null) =>
  evaluate(parseCel(source), new Map([["self", valueOf(self as never)]]));

describe("expressions", () => {
  test.each([
    ["1 + 2 * 3 - 4", 3n],
    ["-(7 / 2)", -3n],
    ["7.0 / 2.0", 3.5],
    ["0x10 + 1", 17n],
    ["1e3 > 999", true],
    ["1 == 1.0 && 2 < 2.5", true],
    [`"a\\n\\u00e4" + 'b' + r'\\n' + """c"d"""`, 'a\näb\\nc"d'],
    ["!false && !!true", true],
    ["true ? 1 : 1 / 0", 1n],
    ["false && 1 / 0 > 0", false],
    ["1 / 0 > 0 || true", true],
    ["[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]", true],
    ["{'a': [1]} == {'a': [1]} && 'a' in {'a': 1}", true],
    ["'äöü'.size() == 3 && size([1, 2]) == 2 && 'äöü'.substring(1, 2) == 'ö'", true],
    ["'a,b'.split(',').join('+') + ' A'.trim().lowerAscii() + 'x'.upperAscii()", "a+baX"],
    ["int('7') + int(1.9) + (double('0.5') > 0.4 ? 1 : 0)", 9n],
    ["string(1) + string(true) + string(1.5)", "1true1.5"],
    ["'aXbX'.replace('X', '$&')", "a$&b$&"],
    ["[[1, 2], []].all(x, x.exists(y, y == 1) || x.size() == 0) // a comment", true],
  ])("%s", (source, expected) => expect(of(source)).toEqual(expected));

  test.each([
    ["1 / 0", "division by zero"],
    ["9223372036854775807 + 1", "integer overflow"],
    ["self.missing", "no such key: missing"],
    ["[1][1]", "index out of bounds"],
    ["1 + 'a'", "no such overload"],
    ["1.5 % 1.0", "no such overload"],
    ["'a' && true", "no such overload"],
    ["1 < 'a'", "no such overload"],
    ["'a'.matches('(')", "cannot be read"],
  ])("%s fails", (source, words) => expect(() => of(source, {})).toThrow(words));

  test("a loop in a loop ends", () => {
    const self = Array.from({ length: 200 }, (_, at) => at);
    expect(() => of("self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", self)).toThrow("takes too long");
  });
});

describe("what is not evaluated is named", () => {
  test.each([
    ["timestamp('2026-01-01T00:00:00Z') > self", "the function timestamp is not evaluated"],
    ["self.all(x, isURL(x))", "the function isURL is not evaluated"],
    ["self.?a.orValue(1) == 1", "optional fields"],
    ["other == 1", "undeclared reference to 'other'"],
    ["[1].all(x, x > 0) && x > 0", "undeclared reference to 'x'"],
    ["1u > 0", "unsigned"],
    ["b'a' == b'a'", "not understood"],
    ["self = 1", "not understood"],
    ["self.all(x)", "other arguments"],
    ["has(self)", "has()"],
    ["constructor(self)", "the function constructor"],
    ["self.toString()", "the function toString"],
    ["(".repeat(200) + "1" + ")".repeat(200), "nested more than 100 deep"],
    ["!".repeat(200) + "true", "nested more than 100 deep"],
    ["1 + ".repeat(5000) + "1", "longer than 10000"],
    ["self" + ".a".repeat(4000), "1000 links"],
    ["1+".repeat(4000) + "1", "1000 links"],
  ])("%.60s", (source, words) => expect(faultOf(source)).toContain(words));

  test("a long chain is no deep one", () => expect(of(`${"1 + ".repeat(1000)}1`)).toBe(1001n));
});

describe("rules of a schema", () => {
  const rule = (text: string) => ({ "x-kubernetes-validations": [{ rule: text }] }) as object;
  const words = (value: unknown, schema: object) =>
    evaluateRules(value as never, undefined, schema).map(({ field, message }) => `${field}: ${message}`);

  test("a number is what the schema says it is", () => {
    const schema = { type: "object", properties: { d: { type: "number" } }, ...rule("self.d / 2.0 == 0.5") };
    expect(words({ d: 1 }, schema)).toEqual([]);
  });
  test("a time may be there or not; more is not known of it, and that is said", () => {
    const time = { type: "string", format: "date-time" };
    const at = { at: "2026-01-01T00:00:00Z" };
    const properties = { at: time };
    expect(words(at, { type: "object", properties, ...rule("has(self.at)") })).toEqual([]);
    expect(words(at, { type: "object", properties, ...rule("self.at != ''") })).toEqual([
      expect.stringContaining("at is of format date-time, which this server does not evaluate"),
    ]);
  });
  test("of a definition that an earlier version stored, a rule that cannot be evaluated refuses what it is about", () => {
    expect(words({ a: 1 }, { type: "object", ...rule("quantity(self.a) > 1") })).toEqual([
      expect.stringContaining("the function quantity is not evaluated"),
    ]);
  });
  test("a schema that contains itself", () => {
    const schema: Record<string, unknown> = { type: "object", ...rule("self.n > 0") };
    schema["properties"] = { n: { type: "integer" }, child: schema };
    expect(words({ n: 1, child: { n: 0 } }, schema)).toEqual([expect.stringContaining("child: Invalid")]);
  });
});
