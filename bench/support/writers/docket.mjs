import { writeWorkbook } from '../../../dist-modules/render/formats/xlsx/workbook.js';
import { MADE_AT } from '../report-data.mjs';

/** @type {(path: string, dataset: import('../../../dist-modules/fetch/dataset.js').Dataset) => Promise<unknown>} */
export const write = (path, dataset) =>
  writeWorkbook(path, dataset, {
    run: '0123456789abcdef0123456789abcdef',
    digest: 'd'.repeat(64),
    madeAt: MADE_AT,
    signal: new AbortController().signal,
  });
