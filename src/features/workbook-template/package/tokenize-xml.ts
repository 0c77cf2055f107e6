import { SaxesParser } from 'saxes';
import { DocketError } from '../../../base/error.ts';
import { clipText } from './invalid-template.ts';
import type { XmlOpen, XmlToken } from './xml-tokens.ts';

/** Longer tags and texts, and elements nested deeper, are refused. Excel's own texts have at most 32,767 characters. */
const MAX_TOKEN_CHARACTERS = 4 * 1024 * 1024;
const MAX_DEPTH = 1_000;
/** Text is parsed in pieces of this many characters, so that its tokens are never all in memory. */
const PIECE_CHARACTERS = 64 * 1024;

/**
 * Yields the tokens of a document.
 * @param part for messages, e.g. `xl/workbook.xml`
 * @throws `template.invalid` for a document that is not well-formed, a DOCTYPE, an encoding other than UTF-8, and
 * exceeded limits
 */
export function* tokenizeXml(text: string, part?: string): Iterable<XmlToken> {
  const tokenizer = createTokenizer(part);
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
    yield* tokenizer.push(text.slice(at, at + PIECE_CHARACTERS));
  }
  yield* tokenizer.end();
}

/** Tokenizes a UTF-8 document, with one batch of tokens per chunk. Leaves out a byte order mark. */
export async function* tokenizeXmlStream(
  chunks: AsyncIterable<Uint8Array>,
  part?: string,
): AsyncIterable<readonly XmlToken[]> {
  const tokenizer = createTokenizer(part);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw malformed(part, 'other bytes', { expected: 'UTF-8', cause });
    }
  };
  for await (const chunk of chunks) {
    const tokens = tokenizer.push(decode(chunk));
    if (tokens.length > 0) yield tokens;
  }
  yield [...tokenizer.push(decode()), ...tokenizer.end()];
}

interface Tokenizer {
  push(text: string): readonly XmlToken[];
  end(): readonly XmlToken[];
}

function createTokenizer(part: string | undefined): Tokenizer {
  // XML 1.1 allows control characters; Excel only reads 1.0.
  const parser = new SaxesParser({ xmlns: false, position: true, defaultXMLVersion: '1.0', forceXMLVersion: true });
  let tokens: XmlToken[] = [];
  // `rest` begins at position `base` of the document. The last token ended at `start`.
  let rest = '';
  let base = 0;
  let start = 0;
  let depth = 0;

  const rawUntil = (end: number): string => {
    const raw = rest.slice(start - base, end - base);
    start = end;
    return raw;
  };
  // saxes reports a comment before its `>`, which may be in the next chunk. The token is therefore added together with
  // the next one.
  let commentEnd: number | undefined;
  let ended = false;
  const before = (): void => {
    if (commentEnd === undefined && start > 0) return;
    // saxes does not report white space before the first tag.
    const space = start === 0 ? (/^\s+/.exec(rest)?.[0].length ?? 0) : 0;
    if (space > 0) tokens.push({ kind: 'other', raw: rawUntil(space) });
    if (commentEnd !== undefined) tokens.push({ kind: 'other', raw: rawUntil(commentEnd) });
    commentEnd = undefined;
  };

  parser.on('error', (error) => {
    throw malformed(part, clipText(error.message));
  });
  parser.on('doctype', () => {
    throw malformed(part, 'a DOCTYPE', { expected: 'XML without a document type' });
  });
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && encoding.toLowerCase() !== 'utf-8') {
      throw malformed(part, `the encoding ${clipText(encoding)}`, { expected: 'UTF-8' });
    }
    tokens.push({ kind: 'other', raw: rawUntil(parser.position) });
  });
  parser.on('processinginstruction', () => {
    before();
    tokens.push({ kind: 'other', raw: rawUntil(parser.position) });
  });
  parser.on('comment', () => {
    before();
    commentEnd = parser.position + 1;
  });
  parser.on('text', (text) => {
    before();
    // saxes reports a text after reading the following `<`, or at the end.
    tokens.push({ kind: 'text', text, raw: rawUntil(ended ? base + rest.length : parser.position - 1) });
  });
  parser.on('cdata', (text) => {
    before();
    tokens.push({ kind: 'text', text, raw: rawUntil(parser.position) });
  });
  parser.on('opentag', ({ name, attributes, isSelfClosing }) => {
    before();
    depth += 1;
    if (depth > MAX_DEPTH) throw malformed(part, 'more', { expected: `at most ${MAX_DEPTH} elements in one another` });
    const raw = rawUntil(parser.position);
    tokens.push({ kind: 'open', name, local: localName(name), attributes, selfClosing: isSelfClosing, raw });
  });
  parser.on('closetag', ({ name, isSelfClosing }) => {
    before();
    depth -= 1;
    tokens.push({
      kind: 'close',
      name,
      local: localName(name),
      raw: isSelfClosing ? '' : rawUntil(parser.position),
    });
  });

  const take = (): readonly XmlToken[] => {
    const taken = tokens;
    tokens = [];
    return taken;
  };
  return {
    push(text) {
      rest = rest.slice(start - base) + text;
      base = start;
      parser.write(text);
      if (base + rest.length - start > MAX_TOKEN_CHARACTERS) {
        throw malformed(part, 'more', { expected: `at most ${MAX_TOKEN_CHARACTERS} characters in one tag or text` });
      }
      return take();
    },
    end() {
      ended = true;
      parser.close();
      before();
      if (start < base + rest.length) tokens.push({ kind: 'other', raw: rawUntil(base + rest.length) });
      return take();
    },
  };
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

const malformed = (
  part: string | undefined,
  got: string,
  detail: { readonly expected?: string; readonly cause?: unknown } = {},
): DocketError =>
  new DocketError('template.invalid', `The workbook's ${part ?? 'XML'} cannot be read.`, {
    expected: 'well-formed XML',
    got,
    next: 'Open the workbook in Excel, save it again as .xlsx or .xlsm, and check it.',
    ...detail,
  });

const ATTRIBUTE = /(\s+)([^\s=/>]+)\s*=\s*(?:"[^"]*"|'[^']*')/g;

/**
 * The raw text of a tag with changed attributes. `null` removes an attribute; a new one is added at the end. Others
 * stay as written, even those that would get the same value.
 * @param changes by name as written; values without entities
 */
export function changeAttributes(
  { name, raw, selfClosing, attributes }: XmlOpen,
  changes: Readonly<Record<string, string | null>>,
): string {
  const left = new Map(Object.entries(changes));
  const end = raw.length - (selfClosing ? 2 : 1);
  const changed = raw.slice(name.length + 1, end).replace(ATTRIBUTE, (written, space: string, attribute: string) => {
    const value = left.get(attribute);
    if (value === undefined) return written;
    left.delete(attribute);
    if (value === attributes[attribute]) return written;
    return value === null ? '' : `${space}${attribute}="${escapeXmlAttribute(value)}"`;
  });
  // Keeps the white space before `/>`.
  const body = changed.trimEnd();
  let added = '';
  for (const [attribute, value] of left) {
    if (value !== null) added += ` ${attribute}="${escapeXmlAttribute(value)}"`;
  }
  return `<${name}${body}${added}${changed.slice(body.length)}${raw.slice(end)}`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

/**
 * Escapes text for the content of an element. A character that XML forbids becomes Excel's escape (`_x0001_`); text
 * that already looks like such an escape stays unchanged.
 */
export const escapeXmlText = (text: string): string =>
  text.replace(SPECIAL_IN_TEXT, (character) => ENTITIES[character] ?? escapeForbidden(character));

/** Escapes an attribute's value for double quotation marks. */
export const escapeXmlAttribute = (text: string): string =>
  text.replace(SPECIAL_IN_ATTRIBUTE, (character) => ENTITIES[character] ?? escapeForbidden(character));

// A lone surrogate cannot be encoded in UTF-8.
const FORBIDDEN =
  '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\ufffe\\uffff]|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]';
const SPECIAL_IN_TEXT = new RegExp(`[&<>\\r${FORBIDDEN}`, 'g');
const SPECIAL_IN_ATTRIBUTE = new RegExp(`[&<>"\\t\\n\\r${FORBIDDEN}`, 'g');

/** A character that XML forbids, in Excel's notation: `_x0001_`. */
export const escapeForbidden = (character: string): string =>
  `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;

/** The readable text of a value with escaped characters (`ST_Xstring`): `_x000a_` is a line break. */
export const decodeExcelText = (text: string): string =>
  text.replace(/_x([0-9a-fA-F]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
