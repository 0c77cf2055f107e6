// Builds `dist-modules/`: each module of `src/` in its own file. Benchmarks and mutation tests import them.
//
//   node build/modules.mjs
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const isAsset = (path) => !/\.tsx?$|tsconfig\.json$/.test(path);

/** @type {(folder: string) => string[]} */
const filesOf = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

/**
 * Copies Lua scripts, the page's assets and the scripts of child processes. They stay files, beside the modules that
 * read them.
 *
 * @type {(source: string, target: string) => void}
 */
export function copyAssets(source, target) {
  for (const path of filesOf(source).filter(isAsset)) cpSync(path, join(target, path.slice(source.length)));
}

if (process.argv[1] === import.meta.filename) {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'build', '--noCheck'], { stdio: 'inherit' });
  copyAssets('src', 'dist-modules');
}
