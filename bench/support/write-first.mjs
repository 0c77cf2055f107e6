import { MADE_AT } from './report-data.mjs';

/**
 * A writer of the first file that a format of data files plans: the rows of the first section.
 *
 * @param {typeof import('../../dist-modules/render/formats/jsonl/jsonl-files.js').jsonlFiles} plan
 * @returns {(path: string, dataset: import('../../dist-modules/fetch/dataset.js').Dataset) => Promise<void>}
 */
export const writeFirst = (plan) => async (path, dataset) => {
  const variables = {
    period: dataset.period,
    org: dataset.org,
    report: dataset.report,
    title: dataset.title,
    run: 'r',
  };
  const context = { variables, run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT, secrets: {} };
  const [file] = plan(dataset, {}, { ...context, signal: new AbortController().signal });
  await file?.write(path, []);
};
