/** An answer of the service needs six levels. `JSON.parse` takes any number of them, and `JSON.stringify` then ends in the middle of them. */
const MAX_DEPTH = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ in this bit alone. */
const CASE = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * JSON of somebody else, as `JSON.parse` reads it, but no deeper than can be written again.
 * Throws a `SyntaxError` for both.
 */
export function parseForeign(bytes: Buffer): unknown {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if ((byte | CASE) === OPEN) depth += 1;
    else if ((byte | CASE) === CLOSE) depth -= 1;
    if (depth > MAX_DEPTH) throw new SyntaxError(`nested in more than ${MAX_DEPTH} levels`);
  }
  return JSON.parse(bytes.toString('utf8'));
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
