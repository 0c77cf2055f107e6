import { DocketError, type ErrorDetail } from '../../../base/error.ts';

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
