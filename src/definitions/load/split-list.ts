import { readFile } from 'node:fs/promises';
import { addressKey } from '../allow-lists/recipients.ts';
import type { DiagnosticText } from '../diagnostics/diagnostic.ts';
import { MAX_SPLIT_VALUES, valueKey } from '../schema/split.ts';
import { errnoText } from './files.ts';
import { findOrgFile } from './org-file.ts';

type ListFault = Omit<DiagnosticText, 'message'>;

/**
 * Reads the recipients of a split report from a CSV file. It has the columns value and address, separated by commas or
 * semicolons, with one address per line. A value may have several lines. A byte order mark is optional.
 * @param folder the folder of `org.yaml`
 */
export async function readSplitList(
  folder: string,
  name: string,
): Promise<{ readonly to: Record<string, string[]> } | ListFault> {
  const found = await findOrgFile(folder, name);
  if ('expected' in found) return found;
  try {
    return parseSplitList(await readFile(found.path, 'utf8'));
  } catch (error) {
    return { expected: 'a file that can be read', got: errnoText(error), next: 'correct its permissions' };
  }
}

const fault = (line: number, expected: string, got: string, next: string): ListFault => ({
  expected: `${expected} (line ${line} of the list)`,
  got,
  next,
});

export function parseSplitList(text: string): { readonly to: Record<string, string[]> } | ListFault {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  const rows = lines.map((line, index) => ({ line: index + 1, text: line })).filter((row) => row.text.trim() !== '');
  const [head, ...entries] = rows;
  const separator = head?.text.includes(';') ? ';' : ',';
  const names = csvCells(head?.text ?? '', separator)?.map((cell) => cell.trim().toLowerCase()) ?? [];
  const [value, address] = [names.indexOf('value'), names.indexOf('address')];
  if (value < 0 || address < 0) {
    return fault(
      head?.line ?? 1,
      'a first line with the columns value and address',
      names.join(', ') || 'none',
      'add it',
    );
  }
  if (entries.length > MAX_SPLIT_VALUES) {
    return fault(
      entries[MAX_SPLIT_VALUES]?.line ?? 0,
      `at most ${MAX_SPLIT_VALUES} lines`,
      String(entries.length),
      'make several reports of it',
    );
  }
  const to = new Map<string, { readonly value: string; readonly addresses: string[] }>();
  for (const row of entries) {
    const cells = csvCells(row.text, separator);
    const [named = '', mailbox = ''] = [cells?.[value], cells?.[address]?.trim()];
    if (named.trim() === '' || addressKey(mailbox) === undefined) {
      return fault(
        row.line,
        'a value and a plain e-mail address',
        JSON.stringify(row.text.slice(0, 80)),
        'correct the line',
      );
    }
    const entry = to.get(valueKey(named)) ?? { value: named, addresses: [] };
    if (entry.value !== named) {
      return fault(
        row.line,
        'each value written in one way, compared after Unicode normalization',
        JSON.stringify(named),
        'copy the other line',
      );
    }
    entry.addresses.push(mailbox);
    to.set(valueKey(named), entry);
  }
  if (to.size === 0) return fault(1, 'at least one value with its address', 'none', 'add one');
  return { to: Object.fromEntries([...to.values()].map((entry) => [entry.value, entry.addresses])) };
}

/** The cells of a line, with RFC 4180 quotes; undefined if a quote is not closed. */
export function csvCells(line: string, separator: string): string[] | undefined {
  const cells: string[] = [];
  let rest = line;
  for (;;) {
    const quoted = /^"((?:[^"]|"")*)"\s*/.exec(rest);
    if (quoted === null && rest.startsWith('"')) return undefined;
    const end = quoted === null ? rest.indexOf(separator) : quoted[0].length;
    const cell = quoted?.[1]?.replaceAll('""', '"') ?? (end < 0 ? rest : rest.slice(0, end));
    cells.push(cell);
    if (end < 0 || end >= rest.length) return cells;
    if (rest[end] !== separator) return undefined;
    rest = rest.slice(end + 1);
  }
}
