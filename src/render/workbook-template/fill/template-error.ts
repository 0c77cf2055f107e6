import { DocketError } from '../../../base/error.ts';
import type { TemplateProblem } from '../template-problem.ts';

/** Where a problem is: `board.xlsx:Board!B4`. */
export const problemPlace = (file: string, { at }: Pick<TemplateProblem, 'at'>): string =>
  at === undefined ? file : `${file}:${at.sheet}${at.cell === undefined ? '' : `!${at.cell}`}`;

/** Throws `template.invalid` with the first error among the problems; warnings stop nothing. */
export function refuseProblems(file: string, problems: readonly TemplateProblem[]): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
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
