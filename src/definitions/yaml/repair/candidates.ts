import type { DiagnosticText } from '../../diagnostics/diagnostic.ts';
import { type EditedText, splice } from './edited-text.ts';
import { indentationCandidates, tabCandidates } from './indentation.ts';
import { type ScannedLine, type Span, scanLine } from './line-scan.ts';
import {
  type Candidate,
  EXTRA_BRACKET,
  inQuotes,
  MISSING_COLON,
  MISSING_COMMA,
  MISSING_SPACE,
  type Mistake,
  missingComma,
  quoteMistake,
  quoteReason,
  UNCLOSED_BRACKET,
  UNCLOSED_QUOTE,
} from './mistakes.ts';

/** Lines above an error in which a quote or bracket may have been opened. */
const MAX_LINES_ABOVE = 40;

/** Repairs of usual mistakes in the lines around an error, the likeliest first. @param line from 0 */
export function* candidatesAround(text: EditedText, line: number): Generator<Candidate> {
  const lines = nearbyLines(text, line);
  for (const each of lines) yield* tabCandidates(text, each);
  for (const each of lines) yield* separatorCandidates(text, each);
  for (const each of lines) yield* valueCandidates(text, each);
  for (let above = line + 1; above >= Math.max(0, line - MAX_LINES_ABOVE); above -= 1) {
    yield* closingCandidates(text, above, line);
  }
  for (const each of lines) yield* indentationCandidates(text, each);
}

/** The line, the one before it and the one behind it, without empty ones and comments. */
function nearbyLines({ lines }: EditedText, line: number): number[] {
  const isContent = (index: number) => /^\s*[^\s#]/.test(lines[index]?.text ?? '');
  const nearest = (from: number, step: 1 | -1): number[] => {
    for (let at = from; at >= 0 && at < lines.length; at += step) if (isContent(at)) return [at];
    return [];
  };
  return [...new Set([...(isContent(line) ? [line] : []), ...nearest(line + 1, 1), ...nearest(line - 1, -1)])];
}

/** Values that need quotes: each alone, then all of the line. */
function* valueCandidates(text: EditedText, line: number): Generator<Candidate> {
  const content = text.lines[line]?.text ?? '';
  const scanned = scanLine(content);
  const values = valuesOf(content, scanned).flatMap((span) => {
    const value = content.slice(span.start, span.end);
    const reason = quoteReason(value);
    return reason === undefined ? [] : [{ span, value, reason }];
  });
  const repair = (chosen: typeof values): Candidate => ({
    // From the right, so that columns stay.
    text: chosen.reduceRight<EditedText>((edited, { span, value, reason }) => {
      const quoted = inQuotes(value, reason);
      if (quoted.slice(1, -1) !== value) return splice(edited, line, span.start, value.length, quoted);
      const closed = splice(edited, line, span.end, 0, quoted.at(-1) ?? '"');
      return splice(closed, line, span.start, 0, quoted[0] ?? '"');
    }, text),
    mistakes: chosen.map(({ span, value, reason }) => ({
      at: { line, column: span.start },
      end: span.end,
      text: quoteMistake(value, reason, scanned.key),
    })),
  });
  if (values.length > 1) yield repair(values);
  for (const each of values) yield repair([each]);
}

const valuesOf = (content: string, { value, flow }: ScannedLine): readonly Span[] => {
  const isFlow = value !== undefined && /^(\[|\{(?![{%]))/.test(content.slice(value.start));
  return isFlow ? flow.scalars : value === undefined ? [] : [value];
};

/** Missing commas, colons and spaces. */
function* separatorCandidates(text: EditedText, line: number): Generator<Candidate> {
  const content = text.lines[line]?.text ?? '';
  const insert = (column: number, inserted: string, mistake: DiagnosticText, at = column): Candidate => ({
    text: splice(text, line, column, 0, inserted),
    mistakes: [{ at: { line, column: at }, end: at + 1, text: mistake }],
  });
  for (const { start, end } of scanLine(content).flow.scalars) {
    const gap = missingComma(content.slice(start, end));
    if (gap !== undefined) yield insert(start + gap.start, ',', MISSING_COMMA, start + gap.end);
  }
  const dash = /^\s*(?:- +)*-(?=[A-Za-z"'{[])/.exec(content)?.[0].length;
  if (dash !== undefined) yield insert(dash, ' ', MISSING_SPACE('-'), dash - 1);
  const colon = /^\s*(?:- +)*[A-Za-z_][\w.-]*:(?=[^\s:/])/.exec(content)?.[0].length;
  if (colon !== undefined) yield insert(colon, ' ', MISSING_SPACE(':'), colon - 1);
  const name = /^\s*(?:- +)*[A-Za-z_][\w.-]*(?=\s+[^\s:#]|\s*$)/.exec(content)?.[0].length;
  if (name !== undefined) {
    const at = content.length - content.trimStart().length;
    const { text: repaired } = insert(name, ':', MISSING_COLON);
    yield { text: repaired, mistakes: [{ at: { line, column: at }, end: name, text: MISSING_COLON }] };
  }
}

const CLOSING = { '[': ']', '{': '}' } as const;

/** Quotes and brackets that this line opens and does not close, and the other way round. @param error line of the error */
function* closingCandidates(text: EditedText, line: number, error: number): Generator<Candidate> {
  const content = text.lines[line]?.text ?? '';
  const { flow } = scanLine(content);
  const edit = (at: number, column: number, deleted: number, inserted: string, mistake: Mistake): Candidate => ({
    text: splice(text, at, column, deleted, inserted),
    mistakes: [mistake],
  });
  const lineEnd = (index: number): number => {
    const own = text.lines[index]?.text ?? '';
    return own.replace(/\s+#.*$/, '').trimEnd().length;
  };
  if (flow.quote !== undefined) {
    const { quote } = flow;
    const mark = content[quote] ?? '"';
    const mistake = { at: { line, column: quote }, end: quote + 1, text: UNCLOSED_QUOTE(mark) };
    // Before a bracket or comma if there is one, else at the end of the line.
    for (const { index } of content.slice(quote).matchAll(/[,\]}]/g)) yield edit(line, quote + index, 0, mark, mistake);
    yield edit(line, Math.max(lineEnd(line), quote + 1), 0, mark, mistake);
  }
  if (flow.open.length > 0) {
    const inner = flow.open.toReversed();
    const [first = { column: 0, bracket: '[' as const }] = inner;
    const closing = inner.map(({ bracket }) => CLOSING[bracket]).join('');
    const mistake = {
      at: { line, column: first.column },
      end: first.column + 1,
      text: UNCLOSED_BRACKET(first.bracket, CLOSING[first.bracket]),
    };
    yield edit(line, lineEnd(line), 0, closing, mistake);
    if (error > line + 1) yield edit(error - 1, lineEnd(error - 1), 0, closing, mistake);
  }
  for (const column of flow.extra) {
    const mistake = { at: { line, column }, end: column + 1, text: EXTRA_BRACKET(content[column] ?? ']') };
    yield edit(line, column, 1, '', mistake);
  }
}
