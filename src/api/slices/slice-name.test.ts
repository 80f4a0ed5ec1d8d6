import { expect, test } from "vitest";

import { apiRefusalOf } from "../../../test/api/refusal.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { leaseName, nodeSlicePoolName, nodeSlicePoolNamesToRead } from "./slice-name.ts";

const range = parsePrefix("10.0.0.0/8");

test.each([
  ["red", "conf", "red", ["red"]],
  ["", "conf", "conf", ["conf", "10.0.0.0-8"]],
])("NodeSlicePool of network %j in configuration %j", (network, configuration, written, read) => {
  expect(nodeSlicePoolName({ network, configuration, range })).toBe(written);
  expect(nodeSlicePoolNamesToRead({ network, configuration, range })).toEqual(read);
});

test("a sliced network without any name is refused", () => {
  const { code, message } = apiRefusalOf(() => nodeSlicePoolName({ network: "", configuration: "", range }));
  expect(code).toBe("bad-name");
  expect(message).toContain("10.0.0.0/8 has neither network_name");
});

test.each([
  ["", "", "whereabouts"],
  ["red", "", "whereabouts"],
  ["", "otter", "otter-10.0.0.0-8"],
  ["red", "otter", "red-otter-10.0.0.0-8"],
])("lease of network %j on node %j", (network, node, name) => {
  expect(leaseName({ range, network, node })).toBe(name);
});
