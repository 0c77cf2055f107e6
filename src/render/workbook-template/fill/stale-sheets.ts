import type { TemplateWorkbook } from '../workbook/workbook.ts';

/** Names of sheets, in quotation marks or not, of tables, of defined names; functions and parts of texts among them. */
const NAME = /'((?:[^']|'')+)'|[\p{L}_\\][\p{L}\p{N}_.\\]*/gu;

/** What a formula may refer to by a name, in lower case. */
export function* namesIn(formula: string): Iterable<string> {
  for (const [plain, quoted] of formula.matchAll(NAME)) yield (quoted?.replaceAll("''", "'") ?? plain).toLowerCase();
}

/** The names that the formulas of a sheet mention, by the name of the sheet. */
export type SheetMentions = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The sheets whose formulas read a filled one, directly or through others: what the template remembers as their results is
 * of its sample. In doubt a sheet is one of them.
 * @param filled names of the sheets that get values
 */
export function findStaleSheets(
  { tables, names }: Pick<TemplateWorkbook, 'tables' | 'names'>,
  filled: ReadonlySet<string>,
  mentions: SheetMentions,
): ReadonlySet<string> {
  const stale = new Set<string>();
  /** Lower case. */
  const reached = new Set<string>();
  const reach = (sheet: string): void => {
    stale.add(sheet);
    reached.add(sheet.toLowerCase());
    for (const table of tables) if (table.sheet === sheet) reached.add(table.name.toLowerCase());
  };
  const mentionsReached = (mentioned: Iterable<string>): boolean => {
    for (const name of mentioned) if (reached.has(name)) return true;
    return false;
  };
  for (const sheet of filled) reach(sheet);
  let size: number;
  do {
    size = reached.size;
    for (const { name, formula } of names) if (mentionsReached(namesIn(formula))) reached.add(name.toLowerCase());
    for (const [sheet, mentioned] of mentions) if (!stale.has(sheet) && mentionsReached(mentioned)) reach(sheet);
  } while (reached.size > size);
  return stale;
}
