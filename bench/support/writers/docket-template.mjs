import { fillTemplate } from '../../../dist-modules/features/workbook-template/fill/fill-template.js';
import { MADE_AT } from '../report-data.mjs';
import { inspectFilled, writeSampleTemplate } from '../template-book.mjs';

export const prepare = writeSampleTemplate;
export const inspect = inspectFilled;

export const write = async (path, dataset, template) => {
  await fillTemplate({ path: template, file: 'template.xlsx', name: 'template.xlsx' }, path, dataset, {
    madeAt: MADE_AT,
    locale: 'en-GB',
    macros: 'keep',
    signal: new AbortController().signal,
  });
};
