// A table for a terminal: columns as wide as what is in them. Pure.

/** The first row is the head. Every row has as many cells. */
export function columnLines(cells: readonly (readonly string[])[]): string[] {
  const widths = (cells[0] ?? []).map((_, column) =>
    cells.reduce((most, row) => Math.max(most, row[column]!.length), 0),
  );
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}
