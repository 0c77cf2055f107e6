const CR = 0x0d;
const LF = 0x0a;
const DOT = Buffer.from('.');

/** Where lines begin with a dot, ascending; undefined when a line break is not CRLF. */
function leadingDots(bytes: Buffer): readonly number[] | undefined {
  const found: number[] = [];
  for (let line = 0; ; ) {
    if (bytes[line] === DOT[0]) found.push(line);
    const [cr, lf] = [bytes.indexOf(CR, line), bytes.indexOf(LF, line)];
    if (cr < 0 && lf < 0) return found;
    if (cr < 0 || cr !== lf - 1) return undefined;
    line = lf + 1;
  }
}

/**
 * A message as DATA carries it (RFC 5321, 4.5.2): all line breaks are CRLF, a leading dot is doubled. Without the last line
 * break, which belongs to the DATA terminator.
 */
export function transparentBody(raw: Uint8Array): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length);
  const dots = leadingDots(bytes);
  if (dots === undefined)
    return transparentBody(Buffer.from(bytes.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1'));
  const end = bytes.at(-1) === LF ? bytes.length - 2 : bytes.length;
  if (dots.length === 0) return bytes.subarray(0, end);
  const parts = [0, ...dots].map((start, index) => bytes.subarray(start, dots[index] ?? end));
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [DOT, part])));
}
