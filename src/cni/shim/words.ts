// The shim's own words: CNI error objects and the reply to VERSION. Written in the subset that scriptc compiles.
//
// The codes and versions are those of ../error.ts and ../version.ts; a test compares them. Imported, they would pull
// their dependencies into the binary.
import { cniVersionOf } from "./scan.ts";

/** What the process does last: prints and exits. */
export interface Outcome {
  readonly exitStatus: number;
  readonly stdout: Uint8Array;
}

export const codes = { badEnvironment: 4, badConfiguration: 7, tryAgainLater: 11, notAvailable: 50 };

const versions = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];
const latest = "1.1.0";

/** An error in the version that the configuration asks for, whichever that is; in our latest where it does not say. */
export function failure(stdin: Uint8Array, code: number, sentence: string): Outcome {
  const asked = cniVersionOf(stdin);
  const version = asked === "" ? latest : asked;
  return outcome(1, `{"cniVersion":"${version}","code":${code},"msg":"${escaped(sentence)}"}\n`);
}

export function versionReply(stdin: Uint8Array): Outcome {
  const asked = cniVersionOf(stdin);
  const version = versions.includes(asked) ? asked : latest;
  return outcome(0, `{"cniVersion":"${version}","supportedVersions":["${versions.join('","')}"]}\n`);
}

function outcome(exitStatus: number, text: string): Outcome {
  return { exitStatus, stdout: new TextEncoder().encode(text) };
}

/** For use between quotes in JSON (RFC 8259, section 7). */
function escaped(text: string): string {
  let result = "";
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x22) result += '\\"';
    else if (code === 0x5c) result += "\\\\";
    else if (code < 0x20) result += `\\u00${code < 0x10 ? "0" : "1"}${"0123456789abcdef".charAt(code % 16)}`;
    else result += text.charAt(index);
  }
  return result;
}
