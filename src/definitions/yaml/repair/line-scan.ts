/** A span of a line: columns from 0, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The parts of one line of YAML, as far as they can be told without the lines around it. */
export interface ScannedLine {
  /** Characters of white space at the start. */
  readonly indent: number;
  /** Column of the first character after `- ` marks. */
  readonly contentColumn: number;
  /** Whether it starts with `- `. */
  readonly isItem: boolean;
  readonly key?: string;
  /** The value behind `key:` or `-`, without a comment. Absent: none. */
  readonly value?: Span;
  /** Scalars in brackets on this line, and its brackets and quotes that do not match. */
  readonly flow: FlowScan;
}

export interface FlowScan {
  /** Values without quotes, as far as a writer may have meant them to reach. */
  readonly scalars: readonly Span[];
  /** Columns of brackets that this line does not close. */
  readonly open: readonly { readonly column: number; readonly bracket: '[' | '{' }[];
  /** Columns of closing brackets that nothing opened. */
  readonly extra: readonly number[];
  /** Column of a quote that this line does not close. */
  readonly quote?: number;
}

const LINE = /^(\s*)((?:-\s+)*)(?:("[^"]*"|'[^']*'|[A-Za-z_][\w.-]*)\s*:(?=\s|$)\s*)?(.*?)\s*$/s;

export function scanLine(text: string): ScannedLine {
  const [, indentation = '', items = '', key = '', rest = ''] = LINE.exec(text) ?? [];
  const contentColumn = indentation.length + items.length;
  const start = text.trimEnd().length - rest.length;
  const value = valueSpan(text, start);
  const isFlow = value !== undefined && /^(\[|\{(?![{%]))/.test(text.slice(start));
  return {
    indent: indentation.length,
    contentColumn,
    isItem: items !== '' || /^\s*-\s*$/.test(text),
    ...(key === '' ? {} : { key }),
    ...(value === undefined ? {} : { value }),
    flow: isFlow ? scanFlow(text, start) : { scalars: [], open: [], extra: [], ...unclosedQuote(text, start) },
  };
}

function valueSpan(text: string, start: number): Span | undefined {
  const rest = text.slice(start).trimEnd();
  if (rest === '' || rest.startsWith('#')) return undefined;
  const comment = /^["']/.test(rest) ? -1 : rest.search(/\s+#/);
  return { start, end: start + (comment === -1 ? rest.length : comment) };
}

/** The end of a quoted text, behind its closing quote; -1: not closed. */
export function quoteEnd(text: string, start: number): number {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1;
    else if (text[at] === quote) {
      if (quote === "'" && text[at + 1] === "'") at += 1;
      else return at + 1;
    }
  }
  return -1;
}

const unclosedQuote = (text: string, start: number): { readonly quote?: number } =>
  /["']/.test(text[start] ?? '') && quoteEnd(text, start) === -1 ? { quote: start } : {};

/** Behind `{{ … }}` or `{% … %}` at this column; -1: no such end. */
function templateEnd(text: string, start: number): number {
  const close = text.startsWith('{{', start) ? '}}' : text.startsWith('{%', start) ? '%}' : undefined;
  const end = close === undefined ? -1 : text.indexOf(close, start + 2);
  return end === -1 ? -1 : end + 2;
}

/** Scans collections in brackets from `start` to the end of the line. */
function scanFlow(text: string, start: number): FlowScan {
  const scalars: Span[] = [];
  const open: { column: number; bracket: '[' | '{' }[] = [];
  const extra: number[] = [];
  let isValue = false;
  let at = start;
  while (at < text.length) {
    const character = text[at] ?? '';
    const isTemplate = templateEnd(text, at) !== -1;
    if (/\s/.test(character)) at += 1;
    else if (character === '#' && /\s/.test(text[at - 1] ?? ' ')) break;
    else if (!isTemplate && (character === '[' || character === '{')) {
      open.push({ column: at, bracket: character });
      isValue = character === '[';
      at += 1;
    } else if (character === ']' || character === '}') {
      if (open.at(-1)?.bracket === (character === ']' ? '[' : '{')) open.pop();
      else extra.push(at);
      at += 1;
    } else if (character === ',') {
      isValue = open.at(-1)?.bracket === '[';
      at += 1;
    } else if (character === ':' && /[\s]|$/.test(text[at + 1] ?? '')) {
      isValue = true;
      at += 1;
    } else {
      const isQuoted = character === '"' || character === "'";
      const closed = isQuoted ? quoteEnd(text, at) : at;
      if (closed === -1) return { scalars, open, extra, quote: at };
      const end = isQuoted && /^\s*([,\]}:]|$|\s#)/.test(text.slice(closed)) ? closed : plainEnd(text, closed, isValue);
      if (isValue) scalars.push({ start: at, end });
      at = Math.max(end, at + 1);
    }
  }
  return { scalars, open, extra };
}

/** Where a text without quotes ends in brackets; a value may contain `: ` by mistake. */
function plainEnd(text: string, start: number, isValue: boolean): number {
  let at = start;
  while (at < text.length) {
    const template = templateEnd(text, at);
    if (template !== -1) {
      at = template;
      continue;
    }
    const rest = text.slice(at, at + 2);
    if (/^[,\][{}]/.test(rest) || /^\s#/.test(rest)) break;
    if (!isValue && /^:(\s|$)/.test(rest)) break;
    at += 1;
  }
  return start + text.slice(start, at).trimEnd().length;
}
