import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import type { Plugin } from 'vite';

const PROJECT = join(import.meta.dirname, '../..');
const SOURCE = join(PROJECT, 'src');
/** Beside the packages that the bundle imports. One per process, since other test runs write theirs. */
const FOLDER = join(PROJECT, `node_modules/.cache/docket-threads-${process.pid}`);

/** This module names the modules of all threads. */
const NAMES = join(SOURCE, 'compose/threads.ts');
const THREADS = ['render-thread', 'definition-thread', 'forecast-thread'];

/** Bundles the modules of threads into a few files, which load five times as fast. */
async function bundle(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
  const bundled = await rolldown({
    input: THREADS.map((name) => join(SOURCE, `compose/${name}.ts`)),
    platform: 'node',
    // Packages.
    external: /^[^./]/,
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
  await bundled.write({ dir: FOLDER, format: 'esm', sourcemap: true });
  await bundled.close();
}

/**
 * Lets the threads of Docket run from a bundle of the source, built when a test first loads code that starts one. Loading
 * TypeScript module by module takes a thread more processor time than most tests need. After a change of a watched source,
 * restart Vitest to update the threads.
 */
export function bundledThreads(): Plugin {
  let made: Promise<void> | undefined;
  return {
    name: 'docket-bundled-threads',
    enforce: 'pre',
    async transform(code, id) {
      if (id !== NAMES) return null;
      made ??= bundle();
      await made;
      return {
        code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(`${FOLDER}/threads.js`))),
        map: null,
      };
    },
  };
}
