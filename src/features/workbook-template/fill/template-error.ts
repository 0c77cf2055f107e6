import { DocketError } from '../../../base/error.ts';
import type { TemplateProblem } from '../template-problem.ts';

/** Where a problem is: `board.xlsx:Board!B4`. */
const problemPlace = (file: string, { at }: Pick<TemplateProblem, 'at'>): string =>
  at === undefined ? file : `${file}:${at.sheet}${at.cell === undefined ? '' : `!${at.cell}`}`;

/**
 * Throws `template.invalid` with the first error among the problems; warnings stop nothing. A unit that a cell misnames is an
 * error of `docket check` alone: a workbook that was delivered with it until now keeps its numbers.
 */
export function refuseProblems(file: string, problems: readonly TemplateProblem[]): void {
  const errors = problems.filter(({ severity, code }) => severity === 'error' && code !== 'workbook.unit');
  const [first] = errors;
  if (first === undefined) return;
  const { message, expected, got, next } = first;
  const more = errors.length === 1 ? '' : ` It has ${errors.length - 1} more; docket check lists them.`;
  throw new DocketError(
    'template.invalid',
    `The workbook template cannot be filled.${message === undefined ? '' : ` ${message}.`}${more}`,
    {
      where: problemPlace(file, first),
      expected,
      got,
      next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
    },
  );
}

/**
 * The error of a template that is another file than the one the definition was loaded with, or none. Somebody may be saving
 * or copying it, and the next attempt finds it whole. Other errors stay what they are.
 */
export function changedTemplate(error: unknown): unknown {
  if (!(error instanceof DocketError) || error.code !== 'template.invalid') return error;
  const { code, message, expected, got, where, next } = error;
  return new DocketError(code, `${message} The file has changed since the report was loaded.`, {
    ...(expected === undefined ? {} : { expected }),
    ...(got === undefined ? {} : { got }),
    ...(where === undefined ? {} : { where }),
    ...(next === undefined ? {} : { next }),
    retryable: true,
    cause: error,
  });
}
