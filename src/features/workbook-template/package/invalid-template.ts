import { DocketError, type ErrorDetail } from '../../../base/error.ts';
import type { TemplateProblem } from '../template-problem.ts';

/** A template that is no workbook, damaged, or larger than the limits allow. `file`: as diagnostics name it. */
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

/** Text of a file in messages: at most 80 characters, control characters shown as `?`. */
export const clipText = (text: string): string => {
  const shown = text.replace(/\p{Cc}/gu, '?');
  return shown.length > 80 ? `${shown.slice(0, 79)}…` : shown;
};

/** The error of a package as a problem of the template as a whole. */
export const problemOfError = ({ message, expected, got, next }: DocketError): TemplateProblem => ({
  severity: 'error',
  code: 'workbook.invalid',
  message: message.replace(/\.$/, ''),
  expected: expected ?? 'a workbook',
  got: got ?? 'another file',
  next: (next ?? 'Save the workbook again in Excel').replace(/\.$/, ''),
});

/** Runs what reads a workbook; errors of its XML, which know their part alone, get the name of the file. */
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
