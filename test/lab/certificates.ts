// Certificates of one cluster, made by openssl: a CA of its own, and what it signs. All keys are P-256: made in 10 ms.
import { join } from "node:path";

import { run } from "./command.ts";

/** Longer than any test, shorter than anyone's trust in a key that lies in /tmp. */
const validDays = "7";
const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", validDays];

export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Subject {
  readonly commonName: string;
  readonly organization?: string;
  /** As in `DNS:localhost` or `IP:127.0.0.1`; a serving certificate has some, a client's has none. */
  readonly names?: readonly string[];
}

export class CertificateAuthority {
  readonly #folder: string;
  readonly own: KeyPair;

  private constructor(folder: string) {
    this.#folder = folder;
    this.own = pair(folder, "ca");
  }

  static async make(folder: string): Promise<CertificateAuthority> {
    const authority = new CertificateAuthority(folder);
    await openssl(
      ["-x509", ...newKey, "-subj", "/CN=holdfast-lab", ...extensions(["basicConstraints=critical,CA:TRUE"])],
      authority.own,
    );
    return authority;
  }

  async sign(name: string, subject: Subject): Promise<KeyPair> {
    const made = pair(this.#folder, name);
    const usage = subject.names ? "serverAuth,clientAuth" : "clientAuth";
    await openssl(
      [
        "-x509",
        "-CA",
        this.own.certificate,
        "-CAkey",
        this.own.key,
        ...newKey,
        "-subj",
        `${subject.organization ? `/O=${subject.organization}` : ""}/CN=${subject.commonName}`,
        ...extensions([
          "basicConstraints=critical,CA:FALSE",
          `extendedKeyUsage=${usage}`,
          ...(subject.names ? [`subjectAltName=${subject.names.join(",")}`] : []),
        ]),
      ],
      made,
    );
    return made;
  }
}

/** The key pair that signs service account tokens; the API server takes the private half for both uses. */
export async function makeSigningKey(file: string): Promise<void> {
  await run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file]);
}

function pair(folder: string, name: string): KeyPair {
  return { certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
}

const extensions = (list: readonly string[]) => list.flatMap((each) => ["-addext", each]);

async function openssl(args: readonly string[], to: KeyPair): Promise<void> {
  await run(["openssl", "req", ...args, "-keyout", to.key, "-out", to.certificate]);
}
