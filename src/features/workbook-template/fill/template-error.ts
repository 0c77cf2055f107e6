import { DocketError } from '../../../base/error.ts';
import type { TemplateProblem } from '../template-problem.ts';

/** The place of a problem: `board.xlsx:Board!B4`. */
const problemPlace = (file: string, { at }: Pick<TemplateProblem, 'at'>): string =>
  at === undefined ? file : `${file}:${at.sheet}${at.cell === undefined ? '' : `!${at.cell}`}`;

/**
 * Throws `template.invalid` for the first error among the problems. Warnings are ignored. So is a wrong unit in a cell,
 * which only `docket check` treats as an error: a workbook that was delivered with it so far must still be delivered.
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
 * For a template that has changed since the definition was loaded: makes its `template.invalid` retryable, because
 * somebody may be saving or copying the file. Returns other errors unchanged.
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
