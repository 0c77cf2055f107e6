import { basename } from 'node:path';
import { fillTemplate } from '../../../../src/features/workbook-template/fill/fill-template.ts';
import type { Dataset } from '../../../../src/fetch/dataset.ts';
import type { FilledWorkbook } from '../../../../src/render/artifact.ts';
import { MADE_AT } from '../../../support/dataset.ts';

/** Fills a template with figures, as a run does. */
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
