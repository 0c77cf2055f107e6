import type { TableNote } from '../dataset.ts';
import { type CallAnswer, type CheckContext, readAnswer } from './answer.ts';
import { figureFindings, unitFindings, unitMismatches } from './figure-checks.ts';
import { metaFindings } from './meta-checks.ts';
import { orderFindings } from './order-check.ts';
import { rowFindings } from './row-checks.ts';
import { additivityFindings, totalFindings } from './total-checks.ts';

/**
 * The answers that a table was read from, each against its own request and the catalog (specification §2.4 to §2.8).
 * What can be seen to be wrong without another call makes the table incomplete; the figures stay as they came. Of
 * many findings of a kind there is one note, with their number and the first.
 */
export function answerFindings(answers: readonly CallAnswer[], context: CheckContext): TableNote[] {
  const checked = answers.map((answer) => readAnswer(answer, context));
  const joined = answers.length > 1 ? readAnswer(context, context) : undefined;
  return [
    ...once(checked.flatMap(metaFindings)),
    ...rowFindings(checked, context),
    ...orderFindings(checked),
    ...unitFindings(unitMismatches(answers, context.metrics)),
    ...figureFindings(checked),
    ...(context.running ? [] : totalFindings(checked, joined)),
    ...additivityFindings(context),
  ];
}

/** What several answers say alike is said once. */
const once = (notes: readonly TableNote[]): TableNote[] => [
  ...new Map(notes.map((note) => [JSON.stringify(note.says), note])).values(),
];
