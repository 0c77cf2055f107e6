import type { Redact } from '../../base/secrets/redactor.ts';

/** Responses need six levels. `JSON.parse` accepts any depth, but `JSON.stringify` then overflows the stack. */
const MAX_DEPTH = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`, and also `]` and `}`, differ only in this bit. */
const BRACKET_CASE_BIT = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Parses untrusted JSON like `JSON.parse`, but limits its depth and removes our secrets. Throws a `SyntaxError`.
 *
 * @param redact applied to every string and name after unescaping; omit it if none contains a secret
 * @param exactNumbers turns numbers that a double would round into strings
 */
export function parseUntrustedJson(
  bytes: Buffer,
  redact?: Redact,
  { exactNumbers = false }: { readonly exactNumbers?: boolean } = {},
): unknown {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if ((byte | BRACKET_CASE_BIT) === OPEN) depth += 1;
    else if ((byte | BRACKET_CASE_BIT) === CLOSE) depth -= 1;
    if (depth > MAX_DEPTH) throw new SyntaxError(`nested in more than ${MAX_DEPTH} levels`);
  }
  const text = bytes.toString('utf8');
  const rounded: unknown = JSON.parse(text);
  // The text must be valid JSON here: the search would be slow in other text.
  const value: unknown = exactNumbers && MANY_DIGITS.test(text) ? JSON.parse(quoteInexactNumbers(text)) : rounded;
  return redact === undefined ? value : redactDeep(value, redact);
}

/** Matches a JSON string, which is skipped, or a number. */
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;
/** Numbers of at most 15 digits survive as doubles. */
const MANY_DIGITS = /[\d.]{16}/;
const MAX_DIGITS = 1000;

/** Replaces the numbers in valid JSON that a double would round by strings, so that no digit is lost. */
const quoteInexactNumbers = (json: string): string =>
  json.replace(TEXT_OR_NUMBER, (token) => (token.startsWith('"') || isExact(token) ? token : `"${token}"`));

function isExact(token: string): boolean {
  const value = Number(token);
  // Numbers out of range are refused later.
  if (!Number.isFinite(value)) return true;
  if (!/[.eE]/.test(token)) return Number.isSafeInteger(value);
  // No double has that many digits, and the expressions below would be slow.
  if (token.length > MAX_DIGITS) return false;
  return extractDigits(token) === extractDigits(String(value));
}

/** The significant digits of a number: without sign, point, exponent, and leading and trailing zeros. */
const extractDigits = (number: string): string =>
  number
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+/, '')
    .replace(/0+$/, '');

/** How many characters are scanned at once: their decoded forms take several times the memory. */
const SCAN_CHUNK_CHARS = 64 * 1024;
/** Longer than an API key that was escaped twice. */
const SCAN_OVERLAP_CHARS = 8 * 1024;

/** Whether any text in this JSON contains a secret. Scans it once. */
export function containsSecret(bytes: Buffer, redact: Redact): boolean {
  const text = bytes.toString('utf8');
  for (let at = 0; at < text.length; at += SCAN_CHUNK_CHARS) {
    const part = text.slice(at, at + SCAN_CHUNK_CHARS + SCAN_OVERLAP_CHARS);
    if (redact(part) !== part) return true;
  }
  return false;
}

function redactDeep(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactDeep(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [redact(name), redactDeep(item, redact)]));
}

/** Offset of the closing quote; the length without one. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let before = at;
    while (bytes[before - 1] === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return bytes.length;
}

/** Makes one line of at most `maxLength` characters from untrusted text, without control characters. */
export function truncateLine(text: string, maxLength = 500): string {
  const line = text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
  return line.length <= maxLength ? line : `${line.slice(0, maxLength)}…`;
}

/** `truncateLine` for codes and ids. */
export const truncateId = (text: string): string => truncateLine(text, 100);
