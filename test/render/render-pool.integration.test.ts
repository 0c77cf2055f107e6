import { watch } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { isStorageOutage, toDocketError } from '../../src/base/error.ts';
import { RENDER_THREAD } from '../../src/compose/threads.ts';
import { FORMATS } from '../../src/features/formats.ts';
import type { Dataset, Row, RowFile } from '../../src/fetch/dataset.ts';
import { writeRows } from '../../src/fetch/rows.ts';
import { hashFigures } from '../../src/render/hash-figures.ts';
import { type RenderPoolOptions, ROWS_PER_CHUNK, renderPool } from '../../src/render/render-pool.ts';
import { createRenderer, type RenderRequest } from '../../src/render/renderer.ts';
import {
  countColumn,
  dataset,
  groupColumn,
  MADE_AT,
  nastyDataset,
  onboarding,
  row,
  table,
} from '../support/dataset.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const folder = async (): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'docket-pool-'));
  cleanUps.push(() => rm(path, { recursive: true, force: true }));
  return path;
};
const pool = (settings: Partial<RenderPoolOptions> = {}) => {
  const opened = renderPool({ entry: RENDER_THREAD, ...settings });
  cleanUps.push(() => opened.close());
  return opened;
};
const requestOf = async (from: Dataset, change: Partial<RenderRequest> = {}): Promise<RenderRequest> => ({
  dataset: from,
  outputs: [{ format: 'csv' }],
  files: { folder: await folder(), digest: 'd'.repeat(64), bundled: ['csv'] },
  mail: { templates: undefined, bodies: [{ body: 'full', attached: ['csv'] }] },
  run: 'r'.repeat(32),
  madeAt: MADE_AT,
  ...change,
});
const never = new AbortController().signal;

/** A list of this many rows in a file, as the fetch stage stores it. */
async function longList(rows: number) {
  const writer = await writeRows(join(await folder(), 'list.rows'));
  for (let at = 0; at < rows; at += 1000) {
    await writer.append(
      Array.from({ length: 1000 }, (_, index) => ({ id: at + index, name: `Ada ${at + index}`, risk: 'high' })),
    );
  }
  const file: RowFile = await writer.end(['id', 'name', 'risk']);
  return table({
    id: 'list',
    columns: file.columns.map((name) => ({ name, label: name, kind: 'field', type: 'string', unit: null })),
    rows: file,
  });
}

describe('rendering in threads', () => {
  it('creates the same files and the same e-mail as in this thread, and the hash of the figures', async () => {
    const data = dataset([...nastyDataset().tables, await longList(1000)]);
    const outputs = [{ format: 'xlsx' }, { format: 'csv' }] as const;
    const here = await createRenderer(FORMATS)(await requestOf(data, { outputs }), never);
    const there = await pool().render(await requestOf(data, { outputs, figures: true }), never);
    const files = ({ artifacts }: typeof here) => artifacts.map(({ path: _, ...artifact }) => artifact);
    expect(files(there)).toEqual(files(here));
    expect(there.mail.html).toBe(here.mail.html);
    expect(there.mail.text).toBe(here.mail.text);
    expect([here.figures, there.figures]).toEqual([undefined, await hashFigures(data)]);
  });

  it('sends each row once, a few per turn of the event loop', async () => {
    let inThisTurn = 0;
    let most = 0;
    let all = 0;
    const rows = Array.from({ length: 20_000 }, (_, index): Row => {
      const values = { 'profile.group': `Group ${index}`, 'profiles.created': index };
      return {
        partial: false,
        get values() {
          inThisTurn += 1;
          all += 1;
          most = Math.max(most, inThisTurn);
          return values;
        },
      };
    });
    let done = false;
    const turn = () => {
      inThisTurn = 0;
      if (!done) setImmediate(turn);
    };
    turn();
    const data = dataset([table({ id: 'large', columns: [groupColumn, countColumn], rows })]);
    await pool()
      .render(await requestOf(data), never)
      .finally(() => {
        done = true;
      });
    expect(most).toBeLessThanOrEqual(ROWS_PER_CHUNK);
    expect(all).toBe(rows.length);
  });

  it('returns an error as it was thrown, with all its fields', async () => {
    const request = await requestOf(dataset([onboarding]));
    await rm(request.files.folder, { recursive: true });
    await expect(pool().render(request, never)).rejects.toMatchObject({
      name: 'DocketError',
      code: 'disk.unavailable',
      where: request.files.folder,
      next: expect.stringMatching(/./),
      retryable: true,
      cause: expect.objectContaining({ stack: expect.stringContaining('ENOENT') }),
    });
  });

  it('keeps the mark of a transient error', async () => {
    const request = await requestOf(dataset([onboarding]));
    const workerFile = join(request.files.folder, 'worker.mjs');
    const error = { json: { code: 'render.failed', message: 'busy' }, retryable: true, transient: true };
    await writeFile(
      workerFile,
      `export default ({ port }) => { port.close(); return ${JSON.stringify({ kind: 'failed', error })}; }`,
    );
    const thrown: unknown = await pool({ entry: pathToFileURL(workerFile) })
      .render(request, never)
      .catch((each: unknown) => each);
    expect(thrown).toMatchObject({ code: 'render.failed' });
    expect(isStorageOutage(toDocketError(thrown))).toBe(true);
  });

  it('stops immediately when it is cancelled in the middle of a file, and leaves none', async () => {
    const cancel = new AbortController();
    const request = await requestOf(dataset([await longList(200_000)]));
    const files = watch(request.files.folder);
    files.once('change', () => cancel.abort(new Error('cancelled by hand')));
    cleanUps.push(async () => files.close());
    const renderer = pool({ threads: 1 });
    await expect(renderer.render(request, cancel.signal)).rejects.toThrow('cancelled by hand');
    expect(await readdir(request.files.folder)).toEqual([]);
    // The thread can render the next request.
    const { artifacts } = await renderer.render(await requestOf(dataset([onboarding])), never);
    expect(artifacts).not.toEqual([]);
  });

  it('cancels a task that has not begun, without affecting a running one', async () => {
    const renderer = pool({ threads: 1 });
    let firstEnded = false;
    const first = renderer.render(await requestOf(dataset([await longList(50_000)])), never).finally(() => {
      firstEnded = true;
    });
    const cancel = new AbortController();
    const request = await requestOf(dataset([onboarding]));
    const second = renderer.render(request, cancel.signal);
    cancel.abort(new Error('cancelled by hand'));
    await expect(second).rejects.toThrow('cancelled by hand');
    expect(firstEnded).toBe(false);
    expect((await first).artifacts).toHaveLength(2);
    // One thread takes them in turn, so the second has had its turn when the third is done.
    await renderer.render(await requestOf(dataset([onboarding])), never);
    expect(await readdir(request.files.folder)).toEqual([]);
  });

  it('never begins a cancelled task', async () => {
    const request = await requestOf(dataset([onboarding]));
    await expect(pool().render(request, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  });

  it('rejects a report that exceeds its memory, and renders the next one', async () => {
    const renderer = pool({ threads: 1, memoryMb: 48 });
    const rows = Array.from({ length: 150_000 }, (_, index) =>
      row({ 'profile.group': `Group ${index} ${'x'.repeat(200)}`, 'profiles.created': index }),
    );
    const large = dataset([table({ id: 'large', columns: [groupColumn, countColumn], rows })]);
    await expect(renderer.render(await requestOf(large), never)).rejects.toMatchObject({
      code: 'render.failed',
      expected: 'at most 48 MB',
    });
    const { artifacts } = await renderer.render(await requestOf(dataset([onboarding])), never);
    expect(artifacts).not.toEqual([]);
  });
});
