import { DocketError, type ErrorDetail } from '../../../base/error.ts';
import type { TemplateProblem } from '../template-problem.ts';

/** The error for a template that is not a workbook, is damaged, or exceeds a limit. `file`: its name in diagnostics. */
export const invalidTemplate = (
  file: string,
  message: string,
  detail: Pick<ErrorDetail, 'expected' | 'got' | 'next' | 'cause'>,
): DocketError =>
  new DocketError('template.invalid', message, {
    where: file,
    next: 'Open the workbook in Excel, save it again as .xlsx or .xlsm, and check it.',
    ...detail,
  });

/** Text from a file for messages: at most 80 characters, with `?` for control characters. */
export const clipText = (text: string): string => {
  const shown = text.replace(/\p{Cc}/gu, '?');
  return shown.length > 80 ? `${shown.slice(0, 79)}…` : shown;
};

/** Converts the error of a package to a problem of the whole template. */
export const problemOfError = ({ message, expected, got, next }: DocketError): TemplateProblem => ({
  severity: 'error',
  code: 'workbook.invalid',
  message: message.replace(/\.$/, ''),
  expected: expected ?? 'a workbook',
  got: got ?? 'another file',
  next: (next ?? 'Save the workbook again in Excel').replace(/\.$/, ''),
});

/** Runs a function that reads a workbook. Adds the name of the file to its XML errors, which only name the part. */
export async function readingFile<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof DocketError) || error.code !== 'template.invalid' || error.where !== undefined) throw error;
    const { message, expected, got, next } = error;
    throw invalidTemplate(file, message, {
      ...(expected === undefined ? {} : { expected }),
      ...(got === undefined ? {} : { got }),
      ...(next === undefined ? {} : { next }),
      cause: error,
    });
  }
}
