import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import type {} from 'vitest';
import type { TestProject } from 'vitest/node';
import { isInstalled } from '../../build/installed.mjs';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the bundled `deliver-child.mjs` and `queue-child.mjs`. */
    children: string;
  }
}

const CHILDREN = ['deliver-child', 'queue-child'];
const CACHE = join(import.meta.dirname, '../../node_modules/.cache');

/**
 * Bundles the programs that tests start and kill by the hundred, with their packages. Loading modules one by one took most
 * of the processor time of such a process.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'docket-children-'));
  const bundled = await rolldown({
    input: CHILDREN.map((name) => join(import.meta.dirname, `${name}.mjs`)),
    platform: 'node',
    external: (id) => isInstalled(id),
    logLevel: 'silent',
    plugins: [
      {
        name: 'keep-urls',
        transform: {
          filter: { code: 'import.meta.url' },
          handler: (code, id) => ({
            code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
            map: null,
          }),
        },
      },
    ],
  });
  await bundled.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs' });
  await bundled.close();
  project.provide('children', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
