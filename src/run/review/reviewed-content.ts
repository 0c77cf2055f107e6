import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachWithConcurrency } from '../../base/concurrency.ts';
import type { Manifest } from '../../deliver/archive/manifest.ts';
import { assembleRunFolder } from '../../deliver/archive/run-folder/run-folder.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { directoryRunFiles } from '../../deliver/archive/storage/directory-storage.ts';
import type { Rendered } from '../../render/renderer.ts';
import { contentFile, type Reviews } from './load-review.ts';

const MANIFEST = 'manifest.json';
const CONCURRENCY = 4;

/**
 * Stores what people look at, as the files of a published run are: `files/`, `mail.html`, `manifest.json`. The manifest is
 * written last: where it is, all files are.
 *
 * @param folder the private folder with the rendered files; it is used up
 */
export async function storeContent(
  reviews: Pick<Reviews, 'put'>,
  run: RunRef,
  content: string,
  folder: string,
  manifest: Manifest,
  { artifacts, mail }: Rendered,
): Promise<void> {
  await assembleRunFolder(folder, 'files', manifest, artifacts, mail);
  const names = await directoryRunFiles(folder).list();
  const put = async (name: string): Promise<void> =>
    reviews.put(run, contentFile(content, name), await readFile(join(folder, ...name.split('/'))));
  await forEachWithConcurrency(
    names.filter((name) => name !== MANIFEST),
    CONCURRENCY,
    put,
  );
  await put(MANIFEST);
}
