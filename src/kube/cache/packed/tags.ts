// What the next value of a packed text is: its first byte.
export const tags = {
  null: 0,
  undefined: 1,
  true: 2,
  false: 3,
  /** A whole number from 0 to 2^28 - 1. */
  count: 4,
  double: 5,
  /** A text of chars below 256, each a byte. */
  bytes: 6,
  /** Any other text, in UTF-16: half of a pair stays what it is. */
  units: 7,
  /** A text in the packer's table. */
  shared: 8,
  array: 9,
  /** Fields whose names are in the packer's table. */
  shape: 10,
  /** Fields with their names. */
  fields: 11,
  mac: 12,
  uid: 13,
  ipv4: 14,
} as const;
