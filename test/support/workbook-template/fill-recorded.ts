import { basename } from 'node:path';
import type { Dataset } from '../../../src/fetch/dataset.ts';
import { fillTemplate } from '../../../src/render/workbook-template/fill/fill-template.ts';
import type { FilledWorkbook } from '../../../src/render/workbook-template/fill/filled-workbook.ts';
import { MADE_AT } from '../dataset.ts';

/** Fills a template of a test. */
export const fill = (
  path: string,
  to: string,
  dataset: Dataset,
  macros: 'keep' | 'remove' = 'keep',
): Promise<FilledWorkbook> =>
  fillTemplate({ path, file: basename(path), name: basename(path) }, to, dataset, {
    madeAt: MADE_AT,
    locale: 'en-GB',
    macros,
    signal: new AbortController().signal,
  });
