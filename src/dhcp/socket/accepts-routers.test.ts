import { expect, test } from "vitest";

import { acceptsRouters } from "./accepts-routers.ts";

test.each([
  [0, 0, false],
  [1, 0, true],
  [1, 1, false],
  [2, 1, true],
])("accept_ra %i with forwarding %i: %s", (accept, forwarding, wanted) => {
  const read = (name: string, setting: string) => {
    expect(name).toBe("eth1");
    return setting === "accept_ra" ? accept : forwarding;
  };
  expect(acceptsRouters("eth1", read)).toBe(wanted);
});

test("an interface that is not there takes none", () => {
  expect(acceptsRouters("no-such-one")).toBe(false);
});
