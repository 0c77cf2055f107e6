import { readFileSync, writeFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createVitest } from 'vitest/node';
import { luaMutants } from './lua-mutants.mjs';

/**
 * Runs the tests against every mutant of these Lua scripts, which Stryker does not read, and prints those that survive.
 * @param {string[]} scripts
 * @returns {Promise<{ killed: number, all: number }>}
 */
export async function mutateLua(scripts) {
  // A copy, so that an end within a mutant leaves nothing behind.
  await mkdir('out', { recursive: true });
  const root = await mkdtemp(join(process.cwd(), 'out', 'lua-'));
  for (const path of ['src', 'test', 'package.json']) {
    await cp(path, join(root, path), { recursive: true, filter: (from) => !from.includes('node_modules') });
  }
  await symlink(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  const vitest = await createVitest('test', {
    root,
    config: join(root, 'test/mutation/vitest.config.ts'),
    watch: false,
    bail: 1,
    maxWorkers: 1,
    reporters: [{}],
  });
  const pass = async () => {
    vitest.state.filesMap.clear();
    const { testModules, unhandledErrors } = await vitest.start();
    return unhandledErrors.length === 0 && testModules.every((module) => module.ok());
  };
  let killed = 0;
  let all = 0;
  try {
    if (!(await pass())) throw new Error('the tests do not pass without any mutant');
    for (const path of scripts) {
      const script = readFileSync(path, 'utf8');
      const mutants = luaMutants(script);
      const before = killed;
      for (const { line, was, is, lua } of mutants) {
        writeFileSync(join(root, path), lua);
        if (await pass()) console.log(`[Survived] ${path}:${line}  ${was}  →  ${is}`);
        else killed += 1;
      }
      writeFileSync(join(root, path), script);
      all += mutants.length;
      console.log(`${path}: ${killed - before} of ${mutants.length} mutants killed`);
    }
  } finally {
    await vitest.close();
    await rm(root, { recursive: true, force: true });
  }
  return { killed, all };
}
