// RFC 7047 section 5.1: <uuid> and <named-uuid>.

/** As in 550e8400-e29b-41d4-a716-446655440000, in lower case. */
export type Uuid = `${string}-${string}-${string}-${string}-${string}`;

/** The row that an `insert` of the same transaction makes under this name. */
export interface NamedUuid {
  readonly named: string;
}

export const zeroUuid: Uuid = "00000000-0000-0000-0000-000000000000";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** RFC 7047's <id>. */
const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function isUuid(value: unknown): value is Uuid {
  return typeof value === "string" && uuidPattern.test(value);
}

export function isNamedUuid(value: unknown): value is NamedUuid {
  const named: unknown = typeof value === "object" && value !== null && "named" in value ? value.named : undefined;
  return typeof named === "string" && namePattern.test(named);
}
