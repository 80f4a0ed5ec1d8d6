import { expect, test } from "vitest";

import { parseLdd } from "./libraries.ts";

test("files are named by where the loader looks for them; the kernel's own is none", () => {
  const output = `
	linux-vdso.so.1 (0x00007f2935dcc000)
	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f2935cd5000)
	/lib64/ld-linux-x86-64.so.2 (0x00007f2935dce000)
`;
  expect(parseLdd(output)).toEqual(["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]);
  expect(parseLdd("\tstatically linked\n")).toEqual([]);
});

test("a library that is missing is an error here, not on the node", () => {
  expect(() => parseLdd("\tlibm.so.6 => not found\n")).toThrow("libm.so.6 => not found");
});
