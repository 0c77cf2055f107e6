import type { DiagnosticText } from '../../diagnostics/diagnostic.ts';
import { candidatesAround } from './candidates.ts';
import {
  blankLine,
  type EditedText,
  editableText,
  type LineColumn,
  type OffsetMap,
  offsetMap,
  originalColumn,
  textOf,
} from './edited-text.ts';
import { type Candidate, MERGE_CONFLICT, type Mistake } from './mistakes.ts';

/** A syntax error of a parsed text. */
export interface ParseError {
  readonly offset: number;
  readonly text: DiagnosticText;
}

/** A mistake with its place in the original text, all from 0. */
export interface LocatedMistake {
  readonly at: LineColumn;
  readonly end: LineColumn;
  readonly text: DiagnosticText;
}

export interface RepairedText {
  readonly text: string;
  readonly map: OffsetMap;
  readonly mistakes: readonly LocatedMistake[];
  /** Lines that could not be read and were left out, from 0. */
  readonly lostLines: readonly number[];
  /** Whether the text parses now. */
  readonly complete: boolean;
}

/** Characters that all attempts together may parse: a second or less. */
const MAX_PARSED_CHARACTERS = 1_500_000;
const MAX_REPAIRS = 100;

/**
 * Repairs usual mistakes of a text one after the other, from the top, so that the values behind them can be checked. Whether
 * a repair helps is told by the parser: the first error must move down. Pure.
 * @param parse the errors of a text in any order; undefined: it cannot be repaired
 */
export function repairText(original: string, parse: (text: string) => readonly ParseError[] | undefined): RepairedText {
  const mistakes: LocatedMistake[] = [];
  const lostLines: number[] = [];
  let parsed = 0;
  let text = withoutMergeConflicts(editableText(original), mistakes);
  const parseEdited = (edited: EditedText): Parsed | undefined => {
    const content = textOf(edited);
    parsed += content.length;
    const errors = parse(content);
    return errors === undefined ? undefined : firstError(errors, offsetMap(edited));
  };
  let current = parseEdited(text);
  for (let repairs = 0; current?.error !== undefined; repairs += 1) {
    const { error } = current;
    const best =
      repairs >= MAX_REPAIRS ? undefined : bestRepair(text, current, parseEdited, () => parsed < MAX_PARSED_CHARACTERS);
    if (best === undefined) {
      const last = locateMistake(text, { at: error.at, end: error.at.column + 1, text: error.text });
      if (!mistakes.some(({ at }) => at.line === last.at.line)) mistakes.push(last);
      break;
    }
    const found = best.mistakes.map((mistake) => locateMistake(text, mistake));
    // A line that was repaired and is still wrong has its diagnostic.
    const isKnown = ({ at }: LocatedMistake) => mistakes.some((each) => each.at.line === at.line);
    mistakes.push(...(best.lost === undefined ? found : found.filter((each) => !isKnown(each))));
    if (best.lost !== undefined) lostLines.push(...best.lost);
    ({ text, parsed: current } = best);
  }
  return {
    text: textOf(text),
    map: offsetMap(text),
    mistakes,
    lostLines,
    complete: current !== undefined && current.error === undefined,
  };
}

interface Parsed {
  /** The first one. */
  readonly error?: { readonly at: LineColumn; readonly text: DiagnosticText };
  readonly count: number;
}

interface Repair {
  readonly text: EditedText;
  readonly mistakes: readonly Mistake[];
  readonly parsed: Parsed;
  readonly lost?: readonly number[];
}

function firstError(errors: readonly ParseError[], map: OffsetMap): Parsed {
  const [first] = errors.toSorted((a, b) => a.offset - b.offset);
  return first === undefined
    ? { count: 0 }
    : { count: errors.length, error: { at: map.locate(first.offset), text: first.text } };
}

/** Whether `a` is better than `b`: its first error is in a later line, or there are fewer errors. */
const isBetter = (a: Parsed, b: Parsed): boolean => {
  const [lineA, lineB] = [a, b].map(({ error }) => error?.at.line ?? Number.POSITIVE_INFINITY) as [number, number];
  return lineA > lineB || (lineA === lineB && a.count < b.count);
};

const CERTAIN: ReadonlySet<unknown> = new Set(['yaml.unquoted_template', 'yaml.unquoted_colon', 'yaml.tab']);

/** A repair of the line of the error itself that no other one can beat: further ones need not be tried. */
const isCertain = ({ mistakes }: Candidate, line: number, { error }: Parsed): boolean =>
  (error?.at.line ?? 0) > line && mistakes.every(({ at, text }) => at.line === line && CERTAIN.has(text.code));

function bestRepair(
  text: EditedText,
  current: Parsed,
  parse: (text: EditedText) => Parsed | undefined,
  mayParse: () => boolean,
): Repair | undefined {
  const line = current.error?.at.line ?? 0;
  let best: Repair | undefined;
  for (const candidate of candidatesAround(text, line)) {
    if (!mayParse()) return best;
    const parsed = parse(candidate.text);
    if (parsed === undefined || !isBetter(parsed, best?.parsed ?? current)) continue;
    best = { ...candidate, parsed };
    if (parsed.error === undefined || isCertain(candidate, line, parsed)) return best;
  }
  if (best !== undefined || current.error === undefined) return best;
  const { at, text: why } = current.error;
  for (const each of [line, line - 1]) {
    if (!mayParse() || (text.lines[each]?.text ?? '').trim() === '') continue;
    const without = blankLine(text, each);
    const parsed = parse(without);
    if (parsed !== undefined && isBetter(parsed, current)) {
      return { text: without, mistakes: [{ at, end: at.column + 1, text: why }], parsed, lost: [each] };
    }
  }
  return undefined;
}

const locateMistake = (text: EditedText, { at, end, text: why }: Mistake): LocatedMistake => ({
  at: { line: at.line, column: originalColumn(text, at) },
  end: { line: at.line, column: originalColumn(text, { line: at.line, column: end }) },
  text: why,
});

/** Keeps the first version of each conflict. */
function withoutMergeConflicts(text: EditedText, mistakes: LocatedMistake[]): EditedText {
  let edited = text;
  let side: 'none' | 'first' | 'second' = 'none';
  for (const [line, content] of text.original.entries()) {
    const starts = /^<{7}( |\r?$)/.test(content);
    if (side === 'none' && !starts) continue;
    if (side === 'none') {
      side = 'first';
      mistakes.push({ at: { line, column: 0 }, end: { line, column: 7 }, text: MERGE_CONFLICT });
      edited = blankLine(edited, line);
    } else if (/^={7}\r?$/.test(content)) {
      side = 'second';
      edited = blankLine(edited, line);
    } else if (/^>{7}( |\r?$)/.test(content)) {
      side = 'none';
      edited = blankLine(edited, line);
    } else if (side === 'second') edited = blankLine(edited, line);
  }
  return edited;
}
