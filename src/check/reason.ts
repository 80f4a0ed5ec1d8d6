// The reason that a daemon kept with a hold (one line of JSON, src/node/add/hold-note.ts), in words. Pure.
import { orNone } from "../net/or-none.ts";

/** Key: the way in which an address was chosen, src/ipam/request.ts. */
const choices: Readonly<Record<string, string>> = {
  yours: "it had this address already",
  returning: "it had this address last",
  given: "this address was asked for",
  preferred: "this address was asked for, or any",
  listed: "the first of the addresses that were asked for",
  lowest: "the lowest free address",
  next: "the next free address after the last one",
  random: "a free address, by chance",
  spread: "the lowest free address of those that its node tries first",
  sticky: "the address that its name leads to",
};

/** Words of another writer, and what cannot be read, stay as they are. */
export function reasonWords(why: string): string {
  const read = orNone(() => JSON.parse(why) as unknown);
  if (typeof read !== "object" || read === null) return why;
  const { network, why: choice, early, passed } = read as Readonly<Record<string, unknown>>;
  if (typeof choice !== "string") return why;
  const [way = "", ...more] = choice.split(", ");
  const parts = [
    [choices[way] ?? way, ...more].join(", "),
    ...(early === true ? ["given before its rest was over, since nothing else was free"] : []),
    ...(typeof network === "string" && network !== "" ? [`on network ${network}`] : []),
  ];
  const lines = Array.isArray(passed) ? passed.filter((each) => typeof each === "string") : [];
  const over = lines.map((line) => line.replace(/^(\S+) {2}(.*)$/, "$1 ($2)")).join(", ");
  return `${parts.join("; ")}${over === "" ? "" : `; passed over: ${over}`}`;
}
