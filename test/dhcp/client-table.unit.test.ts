// Table 5 of RFC 2131 section 4.4.1: the server takes every MAY of a client, and is not led astray by a MUST NOT.
import { describe, expect, it } from "vitest";

import { Fixture, type Sent } from "./fixture.ts";
import { ipHex, type Options } from "./packet.ts";

const ours = ipHex("192.168.48.2");
const its = ipHex("192.168.48.81");
const held = { ciaddr: "192.168.48.81" };

/** A message of each column, with the options that it MUST have. */
const messages: Readonly<Record<string, { readonly sent: Sent; readonly options: Options; readonly outcome: string }>> =
  {
    DISCOVER: { sent: {}, options: { 53: "01" }, outcome: "OFFER 192.168.48.81" },
    INFORM: { sent: held, options: { 53: "08" }, outcome: "ACK" },
    "REQUEST (SELECTING)": { sent: {}, options: { 53: "03", 50: its, 54: ours }, outcome: "ACK 192.168.48.81" },
    "REQUEST (INIT-REBOOT)": { sent: {}, options: { 53: "03", 50: its }, outcome: "ACK 192.168.48.81" },
    "REQUEST (RENEWING)": { sent: held, options: { 53: "03" }, outcome: "ACK 192.168.48.81" },
    DECLINE: { sent: {}, options: { 53: "04", 50: its, 54: ours }, outcome: "silence: recorded" },
    RELEASE: { sent: held, options: { 53: "07", 54: ours }, outcome: "silence: recorded" },
  };

/** Rows: an option and its data. Every row is added to every message, whether the table says MAY or MUST NOT. */
const rows: readonly (readonly [string, number, string])[] = [
  ["requested address", 50, its],
  ["lease time", 51, "00000e10"],
  ["overload, with an empty file field", 52, "01"],
  ["client identifier", 61, "01020000000011"],
  ["client identifier of RFC 4361", 61, "ff000000010003000102000000ffff"],
  ["vendor class identifier", 60, "4d53465420352e30"],
  ["server identifier", 54, ours],
  ["parameter request list", 55, "0103060f"],
  ["maximum message size", 57, "0240"],
  ["message", 56, "68656c6c6f"],
  ["site-specific", 224, "0102"],
  ["all others: host name", 12, "766d"],
  ["all others: rapid commit, empty", 80, ""],
];

describe.each(Object.entries(messages))("%s", (_, { sent, options, outcome }) => {
  it.each(rows)("with %s", (_name, code, data) => {
    expect(new Fixture().story({ ...sent, options: { ...options, [code]: data } })).toContain(outcome);
  });

  it.each<readonly [string, Sent]>([
    ["op", { op: 2 }],
    ["htype", { htype: 6 }],
    ["hlen", { hlen: 16 }],
  ])("with another %s is not answered", (_name, fields) => {
    expect(new Fixture().story({ ...sent, ...fields, options })).toMatch(
      /^silence: (?:not-a-request|unsupported-hardware)$/,
    );
  });

  it.each<readonly [string, Sent]>([
    ["hops", { hops: 16 }],
    ["xid 0", { xid: 0 }],
    ["secs", { secs: 0xffff }],
    ["yiaddr, which is the server's", { yiaddr: "10.9.9.9" }],
    ["siaddr, which is the server's", { siaddr: "10.9.9.9" }],
    ["sname and file", { sname: Uint8Array.of(0x61), file: Uint8Array.of(0xff, 0xff) }],
  ])("with %s", (_name, fields) => {
    expect(new Fixture().story({ ...sent, ...fields, options })).toContain(outcome);
  });
});

describe("what a MUST is for", () => {
  it.each<readonly [string, Sent, string]>([
    ["message type missing", { options: {} }, "silence: bootp"],
    ["message type empty", { options: { 53: "" } }, "silence: malformed"],
    ["message type of two bytes", { options: { 53: "0101" } }, "silence: malformed"],
    ["requested address of three bytes", { options: { 53: "03", 50: "c0a830" } }, "silence: malformed"],
    ["server identifier of five bytes", { options: { 53: "03", 50: its, 54: `${ours}00` } }, "silence: malformed"],
    [
      "requested address twice",
      {
        options: [
          [53, "03"],
          [50, its],
          [50, its],
        ],
      },
      "silence: malformed",
    ],
  ])("%s", (_, sent, story) => {
    expect(new Fixture().story(sent)).toBe(story);
  });
});
