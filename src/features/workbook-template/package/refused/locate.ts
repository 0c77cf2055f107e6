import { formatCell } from '../../workbook/addresses.ts';
import type { TemplateWorkbook } from '../../workbook/workbook.ts';
import type { TemplatePackage } from '../template-package.ts';
import { tokenizeXml } from '../tokenize-xml.ts';

/**
 * The sheet names of the parts that belong to sheets: the sheets themselves, and the targets of their relationships.
 */
export async function sheetsOfParts(
  pack: TemplatePackage,
  { sheets }: TemplateWorkbook,
): Promise<ReadonlyMap<string, string>> {
  const owners = new Map<string, string>(sheets.map(({ name, part }) => [part, name]));
  for (const { name, part } of sheets) {
    const left = [part];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      for (const { external, target } of await pack.relationships(next)) {
        if (external || owners.has(target) || !pack.has(target)) continue;
        owners.set(target, name);
        left.push(target);
      }
    }
  }
  return owners;
}

/** The top left cell of the picture or shape in a drawing that uses a relationship; undefined if there is none. */
export async function findAnchor(pack: TemplatePackage, drawing: string, id: string): Promise<string | undefined> {
  const from: { row?: number; col?: number } = {};
  let inFrom = false;
  let reading: 'row' | 'col' | undefined;
  for (const token of tokenizeXml(await pack.readText(drawing), drawing)) {
    if (token.kind === 'close' && token.local === 'from') inFrom = false;
    if (token.kind === 'text' && reading !== undefined) from[reading] = Number(token.text) + 1;
    if (token.kind !== 'open') continue;
    if (token.local === 'from') inFrom = true;
    reading = inFrom && (token.local === 'row' || token.local === 'col') ? token.local : undefined;
    const uses = Object.entries(token.attributes).some(([name, value]) => value === id && name.includes(':'));
    if (uses && from.row !== undefined && from.col !== undefined) {
      return formatCell({ row: from.row, column: from.col });
    }
  }
  return undefined;
}
