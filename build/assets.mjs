// Lua scripts, the page's assets and what a child process runs stay files, beside the modules that read them.
//
//   node build/assets.mjs FOLDER     copies them from `src/`
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const isAsset = (path) => !/\.tsx?$|tsconfig\.json$/.test(path);

/** @type {(folder: string) => string[]} */
const filesOf = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

/** @type {(source: string, target: string) => void} */
export function copyAssets(source, target) {
  for (const path of filesOf(source).filter(isAsset)) cpSync(path, join(target, path.slice(source.length)));
}

if (process.argv[1] === import.meta.filename) copyAssets('src', process.argv[2] ?? '');
