// A generated part of a hand-written document, between two HTML comments that name it.

export function replaceSection(document: string, name: string, body: string): string {
  const open = `<!-- generated: ${name}; npm run generate -->`;
  const close = `<!-- end of generated: ${name} -->`;
  const from = document.indexOf(open);
  const to = document.indexOf(close);
  if (from < 0 || to < from) {
    throw new Error(`no section "${name}": the document needs the lines\n${open}\n${close}`);
  }
  return `${document.slice(0, from + open.length)}\n${body.trim()}\n${document.slice(to)}`;
}
