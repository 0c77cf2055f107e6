import type { WrongFigure } from '../dataset.ts';
import type { TableNote } from '../notes.ts';
import { type CallAnswer, type CheckContext, toCheckedAnswer } from './checked-answer.ts';
import { columnFindings, columnMismatches } from './column-checks.ts';
import { figureFindings, invalidFigures, unitFindings, unitMismatches } from './figure-checks.ts';
import { metaFindings } from './meta-checks.ts';
import { orderFindings } from './order-check.ts';
import { pairFindings, wrongPairs } from './pair-checks.ts';
import { rowFindings } from './row-checks.ts';
import { runningFindings } from './running-check.ts';
import { additivityFindings, totalFindings, wrongTotals } from './total-checks.ts';

/** What is wrong with the responses of a table. */
export interface AnswerFindings {
  readonly notes: readonly TableNote[];
  /** Figures of the table that cannot be right; not those that they are compared with. */
  readonly wrong: readonly WrongFigure[];
}

/**
 * Checks the responses of a table against their requests and the catalog (specification §2.4 to §2.8). Every finding makes
 * the table incomplete; its values are not changed. Findings of one kind give one note with their number and the first.
 */
export function checkAnswers(answers: readonly CallAnswer[], context: CheckContext): AnswerFindings {
  const checked = answers.map((answer) => toCheckedAnswer(answer, context));
  const whole = toCheckedAnswer(context, context);
  const isJoined = answers.length > 1;
  const units = unitMismatches(answers, context.metrics);
  const columns = columnMismatches(answers, context);
  const totals = context.running ? [] : wrongTotals(checked, isJoined ? whole : undefined, context.undefinedTotals);
  const pairs = wrongPairs(checked);
  return {
    notes: [
      ...uniqueNotes(checked.flatMap(metaFindings)),
      ...rowFindings(checked, context),
      ...orderFindings(checked),
      ...runningFindings(answers),
      ...unitFindings(units),
      ...columnFindings(columns),
      ...figureFindings(checked),
      ...pairFindings(pairs),
      ...totalFindings(totals),
      ...additivityFindings(context),
    ],
    wrong: [
      ...[...units, ...columns].map(({ id }) => ({ metric: id, at: 'column' as const })),
      // The total may be right, and one of its rows wrong.
      ...totals.flatMap(({ metric, previous }) => (previous ? [] : [{ metric, at: 'column' as const }])),
      ...invalidFigures(checked.filter((answer) => !isBefore(answer, whole))),
      ...pairs.flatMap(({ median, p90, at }) => [median, p90].map(({ id }) => ({ metric: id, at }))),
    ],
  };
}

/** Whether a part of a joined table is of the previous period. */
const isBefore = (part: ReturnType<typeof toCheckedAnswer>, { range }: ReturnType<typeof toCheckedAnswer>): boolean =>
  part.range !== undefined && range !== undefined && part.range.to < range.from;

/** Without repetitions. */
const uniqueNotes = (notes: readonly TableNote[]): TableNote[] => [
  ...new Map(notes.map((note) => [JSON.stringify(note.message), note])).values(),
];
