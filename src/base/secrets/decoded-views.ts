/** A text with its escapes decoded. Its character `i` is at `starts[i]` to `ends[i]` of the original. */
export interface DecodedView {
  readonly text: string;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** Decoder of one encoding. Decoded text is never longer than its escape. */
interface Decoder {
  readonly escapes: RegExp;
  readonly decode: (found: string) => string;
}

const bytesAsText = (found: string): string => Buffer.from(found.replaceAll(/[%=]/g, ''), 'hex').toString('utf8');
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const JSON_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const MAX_CODE_POINT = 0x10ffff;

const character = (code: number): string => (code <= MAX_CODE_POINT ? String.fromCodePoint(code) : '');

const JSON_TEXT: Decoder = {
  escapes: /\\(?:u[0-9a-f]{4}|["\\/bfnrt])/gi,
  decode: (found) =>
    found.length > 2
      ? String.fromCharCode(Number.parseInt(found.slice(2), 16))
      : (JSON_ESCAPES[found.charAt(1)] ?? found.charAt(1)),
};
const PERCENT: Decoder = { escapes: /%(?:[0-7][\da-f]|[c-f][\da-f](?:%[89ab][\da-f]){1,3})/gi, decode: bytesAsText };
const HTML: Decoder = {
  escapes: /&(?:#\d{1,7}|#x[\da-f]{1,6}|amp|lt|gt|quot|apos);/gi,
  decode: (found) => {
    const name = found.slice(1, -1).toLowerCase();
    if (!name.startsWith('#')) return ENTITIES[name] ?? '';
    return character(name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1)));
  },
};
const QUOTED_PRINTABLE: Decoder = {
  escapes: /=(?:\r?\n|[0-7][\da-f]|[c-f][\da-f](?:=[89ab][\da-f]){1,3})/gi,
  decode: (found) => (found.endsWith('\n') ? '' : bytesAsText(found)),
};
/**
 * Line ends with the prefix of a folded header or of the next line of an SMTP reply, and invisible characters, including the
 * zero bytes of UTF-16.
 */
const LINE_FOLDS: Decoder = {
  escapes: /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+(?:\d{3}[ -](?:\d\.\d{1,3}\.\d{1,3} )?)?[ \t]*/gu,
  decode: () => '',
};
const DECODERS: readonly Decoder[] = [JSON_TEXT, PERCENT, HTML, QUOTED_PRINTABLE, LINE_FOLDS];

/** Levels of nested escapes, e.g. a URL in JSON in HTML. */
const MAX_NESTING = 2;

/** The text with each encoding decoded alone, and with all of them decoded in turn; without the text itself. */
export function decodedViews(text: string): DecodedView[] {
  if (!/[\\%&=\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)) return [];
  const views = DECODERS.flatMap((decoder) => decodeView({ text }, decoder) ?? []);
  let view: DecodedView | undefined;
  for (let depth = 0; depth < MAX_NESTING; depth += 1) {
    const before = view;
    for (const decoder of DECODERS) view = decodeView(view ?? { text }, decoder) ?? view;
    if (view === undefined || view === before) break;
    views.push(view);
  }
  return views;
}

/** Undefined when there is nothing to decode. */
function decodeView(view: Pick<DecodedView, 'text'> & Partial<DecodedView>, { escapes, decode }: Decoder) {
  const { text } = view;
  let starts: Int32Array | undefined;
  let ends: Int32Array | undefined;
  let decoded = '';
  let read = 0;
  for (const match of text.matchAll(escapes)) {
    starts ??= new Int32Array(text.length);
    ends ??= new Int32Array(text.length);
    const [found] = match;
    mapPositions(view, starts, ends, decoded.length, read, match.index);
    decoded += text.slice(read, match.index);
    read = match.index + found.length;
    const value = decode(found);
    starts.fill(view.starts?.[match.index] ?? match.index, decoded.length, decoded.length + value.length);
    ends.fill(view.ends?.[read - 1] ?? read, decoded.length, decoded.length + value.length);
    decoded += value;
  }
  if (starts === undefined || ends === undefined) return undefined;
  mapPositions(view, starts, ends, decoded.length, read, text.length);
  return { text: decoded + text.slice(read), starts, ends };
}

/** Maps the unescaped characters `from` to `to` to their positions in the original. */
function mapPositions(
  view: Partial<DecodedView>,
  starts: Int32Array,
  ends: Int32Array,
  at: number,
  from: number,
  to: number,
): void {
  for (let index = from; index < to; index += 1) {
    starts[at + index - from] = view.starts?.[index] ?? index;
    ends[at + index - from] = view.ends?.[index] ?? index + 1;
  }
}
