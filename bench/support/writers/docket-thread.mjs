import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RENDER_THREAD } from '../../../dist-modules/compose/threads.js';
import { renderPool } from '../../../dist-modules/render/render-pool.js';
import { MADE_AT } from '../report-data.mjs';
import { watchStalls } from '../stalls.mjs';

const TEMPLATES = fileURLToPath(new URL('../../../templates', import.meta.url));

/**
 * As in the worker: a thread makes files and e-mail, and gets the dataset from here.
 *
 * @param {string} path
 * @param {import('../../../dist-modules/fetch/dataset.js').Dataset} dataset
 */
export async function write(path, dataset) {
  const pool = renderPool({ entry: RENDER_THREAD });
  const longest = watchStalls();
  const { artifacts } = await pool.render(
    {
      dataset,
      outputs: [{ format: 'xlsx' }],
      files: { folder: dirname(path), digest: 'd'.repeat(64) },
      mail: { templates: TEMPLATES },
      run: '0123456789abcdef0123456789abcdef',
      madeAt: MADE_AT,
    },
    new AbortController().signal,
  );
  const stall = longest();
  await pool.close();
  await rename(artifacts[0].path, path);
  return { stall_ms: stall };
}
