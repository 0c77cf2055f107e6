import type { Redact } from '../base/redactor.ts';

/** An answer of the service needs six levels. `JSON.parse` takes any number of them, and `JSON.stringify` then ends in the middle of them. */
const MAX_DEPTH = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ in this bit alone. */
const CASE = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * JSON of somebody else, as `JSON.parse` reads it, but no deeper than can be written again, and without our secrets.
 * Throws a `SyntaxError` for both.
 *
 * @param redact applied to every text and name in it, after JSON's own escapes are undone; absent where none has a secret
 */
export function parseForeign(bytes: Buffer, redact?: Redact): unknown {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if ((byte | CASE) === OPEN) depth += 1;
    else if ((byte | CASE) === CLOSE) depth -= 1;
    if (depth > MAX_DEPTH) throw new SyntaxError(`nested in more than ${MAX_DEPTH} levels`);
  }
  const value: unknown = JSON.parse(bytes.toString('utf8'));
  return redact === undefined ? value : redacted(value, redact);
}

/** Characters that are looked at together: what they look like with their escapes undone takes several times their room. */
const LOOK = 64 * 1024;
/** Longer than a key that is escaped twice. */
const OVERLAP = 8 * 1024;

/** Whether any text in this JSON has a secret, at the price of one look through the whole. */
export function holdsSecret(bytes: Buffer, redact: Redact): boolean {
  const text = bytes.toString('utf8');
  for (let at = 0; at < text.length; at += LOOK) {
    const part = text.slice(at, at + LOOK + OVERLAP);
    if (redact(part) !== part) return true;
  }
  return false;
}

function redacted(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redacted(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [redact(name), redacted(item, redact)]));
}

/** The offset of the quote that ends the string; past the end where none does. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let before = at;
    while (bytes[before - 1] === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return bytes.length;
}
