import { DocketError } from '../../base/error.ts';
import { stripInvisible } from '../../base/text/bidi.ts';
import { csvCells } from '../../definitions/load/split-list.ts';
import { denialName, MAX_DENIED } from './deny-list.ts';

/** An address or domain to deny. */
export interface DenialRequest {
  /** In the normal form of `denialName`. */
  readonly name: string;
  /** Undefined: the common reason applies. */
  readonly reason: string | undefined;
}

const MAX_SHOWN = 10;
const MAX_REASON = 500;

/**
 * Reads addresses and domains: one per line, or CSV with a column `address` or `domain` and an optional column
 * `reason`, separated by commas or semicolons. Throws `usage.invalid` with the numbers of invalid lines.
 */
export function parseDenials(text: string): readonly DenialRequest[] {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .map((line, index) => ({ number: index + 1, line: line.trim() }))
    .filter(({ line }) => line !== '' && !line.startsWith('#'));
  const separator = lines[0]?.line.includes(';') ? ';' : ',';
  const parseCells = (line: string) => csvCells(line, separator)?.map((cell) => cell.trim()) ?? [];
  const head = parseCells(lines[0]?.line ?? '').map((cell) => cell.toLowerCase());
  const named = head.findIndex((cell) => cell === 'address' || cell === 'domain');
  const hasHeader = named >= 0;
  const reasons = hasHeader ? head.indexOf('reason') : -1;
  const rows = lines.slice(hasHeader ? 1 : 0).map(({ number, line }) => {
    const cells = hasHeader ? parseCells(line) : [line];
    const reason = stripInvisible(cells[reasons] ?? '').trim();
    // The same rule as for a reason on the command line: it is printed in terminals, mails and logs.
    const isReason = reason.length <= MAX_REASON && !/\p{Cc}/u.test(reason);
    const name = isReason ? denialName(cells[Math.max(named, 0)] ?? '') : undefined;
    return { number, line, name, reason: reason || undefined };
  });
  if (rows.length > MAX_DENIED) throw tooManyDenials(rows.length);
  const bad = rows.filter(({ name }) => name === undefined);
  if (bad.length > 0 || rows.length === 0) throw badLines(bad);
  return rows.flatMap(({ name, reason }) => (name === undefined ? [] : { name, reason }));
}

export const tooManyDenials = (got: number): DocketError =>
  new DocketError('usage.invalid', 'The deny list would be too long.', {
    expected: `at most ${MAX_DENIED} addresses and domains`,
    got: String(got),
    next: 'Nothing was changed. Deny a domain instead of its addresses.',
  });

function badLines(bad: readonly { readonly number: number; readonly line: string }[]): DocketError {
  const shown = bad
    .slice(0, MAX_SHOWN)
    .map(({ number, line }) => `line ${number} ${JSON.stringify(line.slice(0, 80))}`);
  const more = bad.length > MAX_SHOWN ? [`and ${bad.length - MAX_SHOWN} more`] : [];
  return new DocketError('usage.invalid', 'Not every line is an address or a domain.', {
    expected: `name@domain.example or domain.example; for CSV a header with a column address and optionally reason (one line, at most ${MAX_REASON} characters)`,
    got: [...shown, ...more].join(', ') || 'no lines',
    next: 'Nothing was changed. Correct these lines, then try again.',
  });
}
