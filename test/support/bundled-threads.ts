import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import type { Plugin } from 'vite';

const PROJECT = join(import.meta.dirname, '../..');
const SOURCE = join(PROJECT, 'src');
/** Beside the packages that the bundle imports; of this process alone, because other test runs write theirs. */
const FOLDER = join(PROJECT, `node_modules/.cache/docket-threads-${process.pid}`);

/** Modules that start a thread, each with the thread's own module. */
const THREADS = {
  'render/render-pool': 'render/render-worker',
  'services/definitions/definition-threads': 'services/definitions/definition-thread',
};

const threadOf = (id: string): string | undefined =>
  Object.entries(THREADS).find(([starter]) => id === join(SOURCE, `${starter}.ts`))?.[1];

/** Writes both threads in few files, of which a thread loads in a fifth of the time that their hundreds of modules take. */
async function bundle(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
  const bundled = await rolldown({
    input: Object.fromEntries(Object.values(THREADS).map((name) => [name, join(SOURCE, `${name}.ts`)])),
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
 * Lets the threads of Docket run from a bundle of the source, made when a test first loads what starts one. A thread that loads
 * TypeScript module by module takes more processor time than most tests do. Changes of a watched source show in threads
 * after a restart of Vitest.
 */
export function bundledThreads(): Plugin {
  let made: Promise<void> | undefined;
  return {
    name: 'docket-bundled-threads',
    enforce: 'pre',
    async transform(code, id) {
      const thread = threadOf(id);
      if (thread === undefined) return null;
      const local = `new URL('./${thread.split('/').at(-1)}.js', import.meta.url)`;
      if (!code.includes(local)) throw new Error(`${id} does not name its thread by ${local}.`);
      made ??= bundle();
      await made;
      const url = pathToFileURL(join(FOLDER, `${thread}.js`)).href;
      return { code: code.replace(local, `new URL(${JSON.stringify(url)})`), map: null };
    },
  };
}
