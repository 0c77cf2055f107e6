import type { TemplateWorkbook } from '../workbook/workbook.ts';

/** Matches names of sheets (quoted or not), tables and defined names. It also matches functions and parts of texts. */
const NAME = /'((?:[^']|'')+)'|[\p{L}_\\][\p{L}\p{N}_.\\]*/gu;

/** Everything in a formula that may be a name, in lower case. */
export function* namesIn(formula: string): Iterable<string> {
  for (const [plain, quoted] of formula.matchAll(NAME)) yield (quoted?.replaceAll("''", "'") ?? plain).toLowerCase();
}

/** The names used in the formulas of each sheet, by the name of the sheet. */
export type SheetMentions = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The sheets whose formulas read a filled sheet, directly or through others. Their stored results are of the template's
 * sample. If in doubt, a sheet is included.
 * @param filled names of the sheets that get values
 */
export function findStaleSheets(
  { tables, names }: Pick<TemplateWorkbook, 'tables' | 'names'>,
  filled: ReadonlySet<string>,
  mentions: SheetMentions,
): ReadonlySet<string> {
  /** The sheets and defined names that use a name. Keys and defined names are in lower case. */
  const mentionedBy = new Map<string, { readonly sheet?: string; readonly name?: string }[]>();
  const addMention = (mentioned: string, by: { readonly sheet?: string; readonly name?: string }): void => {
    const known = mentionedBy.get(mentioned);
    if (known === undefined) mentionedBy.set(mentioned, [by]);
    else known.push(by);
  };
  for (const { name, formula } of names)
    for (const mentioned of namesIn(formula)) addMention(mentioned, { name: name.toLowerCase() });
  for (const [sheet, mentioned] of mentions) for (const each of mentioned) addMention(each, { sheet });

  const stale = new Set<string>();
  /** In lower case. Grows during the iteration. */
  const reached = new Set<string>();
  const reach = (sheet: string): void => {
    if (stale.has(sheet)) return;
    stale.add(sheet);
    reached.add(sheet.toLowerCase());
    for (const table of tables) if (table.sheet === sheet) reached.add(table.name.toLowerCase());
  };
  for (const sheet of filled) reach(sheet);
  for (const each of reached) {
    for (const { sheet, name } of mentionedBy.get(each) ?? []) {
      if (sheet !== undefined) reach(sheet);
      if (name !== undefined) reached.add(name);
    }
  }
  return stale;
}
