import { expect, test } from "vitest";

import { slowFirst } from "./slow-first.ts";

test("the slow ones come first, the slowest before all; the others as they were", () => {
  const files = ["/r/src/b.test.ts", "/r/test/slices/stories-daily.embedded.test.ts", "/r/src/a.test.ts"];
  const more = [...files, "/r/test/slices/stories-cut-off.embedded.test.ts"];
  expect(slowFirst("/r", more, (file) => file)).toEqual([more[3], more[1], more[0], more[2]]);
  expect(slowFirst("/elsewhere", more, (file) => file)).toEqual(more);
});
