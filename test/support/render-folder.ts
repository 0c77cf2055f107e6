import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import type { Output } from '../../src/definitions/schema/kinds.ts';
import { FORMATS } from '../../src/features/formats.ts';
import type { Dataset } from '../../src/fetch/dataset.ts';
import type { Artifact } from '../../src/render/artifact.ts';
import { type RenderOptions, renderFiles } from '../../src/render/render-files.ts';
import { MADE_AT } from './dataset.ts';

/** Renders files of a report into private folders, which are removed after each test. */
export function useRenderFolder() {
  const folders: string[] = [];
  afterEach(async () => {
    await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
  });
  const folder = async (): Promise<string> => {
    const path = await mkdtemp(join(tmpdir(), 'docket-render-'));
    folders.push(path);
    return path;
  };
  const options = async (change: Partial<RenderOptions> = {}): Promise<RenderOptions> => ({
    folder: await folder(),
    run: '0123456789abcdef0123456789abcdef',
    madeAt: MADE_AT,
    digest: 'd'.repeat(64),
    signal: new AbortController().signal,
    ...change,
  });
  const render = async (
    dataset: Dataset,
    outputs: readonly Output[],
    change: Partial<RenderOptions> = {},
  ): Promise<Artifact[]> => renderFiles(dataset, outputs, FORMATS, await options(change));
  return { folder, options, render };
}

/** The file with this name, or the only one with this ending. The test fails if there is none. */
export function artifactNamed(artifacts: readonly Artifact[], ending: string): Artifact {
  const found = artifacts.find(({ name }) => name.endsWith(ending));
  if (found === undefined)
    throw new Error(`no file ending in ${ending}: ${artifacts.map(({ name }) => name).join(', ')}`);
  return found;
}
