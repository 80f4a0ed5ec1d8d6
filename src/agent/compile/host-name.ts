// A VM's name as a host name (option 12; RFC 1123 section 2.1).

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/i;

/** Undefined: a name that no host can have is not sent at all. */
export function hostNameOf(name: string | undefined): string | undefined {
  if (name === undefined || name.length > 253) return undefined;
  return name.split(".").every((each) => label.test(each)) ? name : undefined;
}
