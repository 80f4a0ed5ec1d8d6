import { describe, expect, test } from "vitest";

import { compile, languageOf } from "./expression.ts";
import { evaluateRules, valueOf } from "./rules.ts";

const language = languageOf("self");
const of = (source: string, self: unknown = null) =>
  compile(language, source).evaluate({ self: valueOf(self as never) });

describe("expressions", () => {
  test.each([
    ["1 + 2 * 3 - 4", 3n],
    ["-(7 / 2)", -3n],
    ["7.0 / 2.0", 3.5],
    ["0x10 + 1", 17n],
    ["1e3 > 999", true],
    ["dyn(1) == 1.0 && 2 < 2.5", true],
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
    ["duration('90m') > duration('1h') && timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')", true],
    ["b'a' == bytes('a') && 1u < 2u", true],
    ["{'a': 1}.?b.orValue(2) == 2", true],
    ["matches('a1', '(?i)^A[[:digit:]]$')", true],
    ["[[1, 2], []].all(x, x.exists(y, y == 1) || x.size() == 0) // a comment", true],
  ])("%s", (source, expected) => expect(of(source)).toEqual(expected));

  test.each([
    ["1 / 0", "division by zero"],
    ["9223372036854775807 + 1", "integer overflow"],
    ["self.missing", "no such key: missing"],
    ["[1][1]", "index out of bounds"],
    ["1 + 'a'", "no such overload"],
    ["1.5 % 1.0", "no such overload"],
    ["'a' && true", "bool operands"],
    ["1 < 'a'", "no such overload"],
    ["'a'.matches('(')", "invalid regular expression"],
    ["matches('a', '(')", "cannot be read"],
  ])("%s fails", (source, words) => expect(() => of(source, {})).toThrow(words));

  test("a loop in a loop ends, all pairs of a thousand are looked at", () => {
    const self = Array.from({ length: 200 }, (_, at) => at);
    expect(() => of("self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", self)).toThrow("takes too long");
    expect(() => of("self.all(a, [1].all(b, self.all(c, self.exists(d, a + b + c + d < 0))))", self)).toThrow(
      "too long",
    );
    const thousand = Array.from({ length: 1000 }, (_, at) => at);
    expect(of("self.all(a, self.all(b, a + b >= 0))", thousand)).toBe(true);
  });
});

describe("what is not evaluated is named", () => {
  test.each([
    ["self.all(x, isURL(x))", "found no matching overload for 'isURL(dyn)'"],
    ["other == 1", "unknown variable: other"],
    ["[1].all(x, x > 0) && x > 0", "unknown variable: x"],
    ["self = 1", "unexpected character"],
    ["self.all(x)", "unknown variable: x"],
    ["has(self)", "has()"],
    ["constructor(self)", "'constructor(dyn)'"],
    ["self.toString()", "'dyn.toString()'"],
    ["self.matches('[[:alpha:]]')", "in a form only Go reads"],
    ["[self].all(x, x.matches('(?i)a'))", "in a form only Go reads"],
    ["(".repeat(200) + "1" + ")".repeat(200), "exceeded maxDepth (100)"],
    ["!".repeat(9000) + "true", "nested too deep"],
    ["1 + ".repeat(5000) + "1", "longer than 10000"],
    ["self" + ".a".repeat(4000), "exceeded maxDepth (100)"],
    ["1+".repeat(4000) + "1", "exceeded maxAstNodes (4000)"],
  ])("%.60s", (source, words) => expect(compile(language, source).fault).toContain(words));

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
  test.each([
    ["date-time", "2026-01-01T00:00:00Z", "self < timestamp('2026-01-01T00:00:01Z')"],
    ["date", "2026-01-01", "self == timestamp('2026-01-01T00:00:00Z')"],
    ["duration", "90m", "self > duration('1h')"],
    ["byte", "YQ==", "self == b'a'"],
  ])("a text of format %s is a value of its type", (format, text, source) => {
    expect(words(text, { type: "string", format, ...rule(source) })).toEqual([]);
    expect(words(text, { type: "string", format, ...rule(`!(${source})`) })).toHaveLength(1);
  });
  test("what is no value of its type fails the rules that take it for one, and no others", () => {
    const schema = (source: string) => ({ type: "string", format: "duration", ...rule(source) });
    expect(words("1 day", schema("self > duration('1h')"))).toEqual([
      expect.stringContaining("rule evaluation error: no such overload"),
    ]);
    expect(words("1 day", schema("size('a') == 1"))).toEqual([]);
  });
  test("names of fields are escaped, keys of maps are not", () => {
    const properties = Object.fromEntries(
      ["a__b", "c.d", "e/f", "namespace"].map((name) => [name, { type: "integer" }]),
    );
    const source = "self.a__underscores__b + self.c__dot__d + self.e__slash__f == self.__namespace__";
    expect(
      words({ a__b: 1, "c.d": 2, "e/f": 3, namespace: 6 }, { type: "object", properties, ...rule(source) }),
    ).toEqual([]);
    const map = {
      type: "object",
      additionalProperties: { type: "integer" },
      ...rule("self['c.d'] == 1 && self.namespace == 2"),
    };
    expect(words({ "c.d": 1, namespace: 2 }, map)).toEqual([]);
  });
  test("of a definition that an earlier version stored, a rule that cannot be evaluated refuses what it is about", () => {
    expect(words({ a: 1 }, { type: "object", ...rule("quantity(self.a) > 1") })).toEqual([
      expect.stringContaining("found no matching overload for 'quantity(dyn)'"),
    ]);
  });
  test("a schema that contains itself", () => {
    const schema: Record<string, unknown> = { type: "object", ...rule("self.n > 0") };
    schema["properties"] = { n: { type: "integer" }, child: schema };
    expect(words({ n: 1, child: { n: 0 } }, schema)).toEqual([expect.stringContaining("child: Invalid")]);
  });
});
