const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;

/** Whether all line breaks are CRLF and no line begins with a dot. */
function isTransparent(bytes: Buffer): boolean {
  if (bytes[0] === DOT) return false;
  for (let at = 0; ; ) {
    const [cr, lf] = [bytes.indexOf(CR, at), bytes.indexOf(LF, at)];
    if (lf < 0) return cr < 0;
    if (cr < 0 || cr !== lf - 1 || bytes[lf + 1] === DOT) return false;
    at = lf + 1;
  }
}

/**
 * A message as DATA carries it (RFC 5321, 4.5.2): all line breaks are CRLF, a leading dot is doubled. Without the last line
 * break, which belongs to the DATA terminator.
 */
export function transparentBody(raw: Uint8Array): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length);
  if (isTransparent(bytes)) return bytes.at(-1) === LF ? bytes.subarray(0, -2) : bytes;
  const lines = bytes
    .toString('latin1')
    .replace(/\r\n|\r|\n/g, '\r\n')
    .replace(/^\.|(?<=\n)\./g, '..');
  return Buffer.from(lines.replace(/\r\n$/, ''), 'latin1');
}
