import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadLuaScript } from '../../src/redis/script.ts';
import { TERMINAL_STATES } from '../../src/run/run-record.ts';

const load = (path: string) => loadLuaScript(`../../src/${path}`, import.meta.url).lua;

test('an included file is inserted once, even if several files include it', () => {
  const lua = load('queue/runs/scripts/update-run.lua');
  expect(lua.match(/redis\.call\('TIME'\)/g)).toHaveLength(1);
  expect(lua).not.toContain('@include');
});

test('the terminal states in Lua scripts are those of the run record', () => {
  const names = load('queue/runs/scripts/terminal-states.lua').matchAll(/^ {2}(\w+) = true,$/gm);
  expect(new Set([...names].map(([, name]) => name))).toEqual(new Set(TERMINAL_STATES));
});

test('no TypeScript file contains Lua', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  // `await redis.call(…)` is a method of the client. Lua has no `await`.
  const withLua = files.filter((file) =>
    /(?<!await )redis\.p?call\(['"]/.test(readFileSync(join('src', file), 'utf8')),
  );
  expect(withLua).toEqual([]);
});
