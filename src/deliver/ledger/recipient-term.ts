/**
 * The recipient as the index of recipients has it; `recipient-index.lua` has the same rule. Lower case, ASCII letters only.
 * Of the location of files what precedes the first part of its path that holds a digit, because a location usually names
 * the period and would otherwise be a new recipient each time: `s3://reports/acme/2026-W46/` is `s3://reports/acme`.
 */
export function recipientTerm(recipient: string): string {
  const text = asciiLowerCase(recipient);
  const [, start = '', path = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/]*|[^/]*)(.*)$/s.exec(text) ?? [];
  let kept = start;
  for (const part of path.match(/\/[^/]*/g) ?? []) {
    if (/[0-9]/.test(part)) break;
    kept += part;
  }
  return kept.replace(/\/+$/, '') || text;
}

/** As Redis does it. */
export const asciiLowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
