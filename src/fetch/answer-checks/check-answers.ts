import type { TableNote } from '../notes.ts';
import { type CallAnswer, type CheckContext, toCheckedAnswer } from './checked-answer.ts';
import { figureFindings, unitFindings, unitMismatches } from './figure-checks.ts';
import { metaFindings } from './meta-checks.ts';
import { orderFindings } from './order-check.ts';
import { rowFindings } from './row-checks.ts';
import { runningFindings } from './running-check.ts';
import { additivityFindings, totalFindings } from './total-checks.ts';

/**
 * Checks the responses of a table against their requests and the catalog (specification §2.4 to §2.8). Every finding makes
 * the table incomplete; its values are not changed. Findings of one kind give one note with their number and the first.
 */
export function answerFindings(answers: readonly CallAnswer[], context: CheckContext): TableNote[] {
  const checked = answers.map((answer) => toCheckedAnswer(answer, context));
  const joined = answers.length > 1 ? toCheckedAnswer(context, context) : undefined;
  return [
    ...uniqueNotes(checked.flatMap(metaFindings)),
    ...rowFindings(checked, context),
    ...orderFindings(checked),
    ...runningFindings(answers),
    ...unitFindings(unitMismatches(answers, context.metrics)),
    ...figureFindings(checked),
    ...(context.running ? [] : totalFindings(checked, joined)),
    ...additivityFindings(context),
  ];
}

/** Without repetitions. */
const uniqueNotes = (notes: readonly TableNote[]): TableNote[] => [
  ...new Map(notes.map((note) => [JSON.stringify(note.message), note])).values(),
];
