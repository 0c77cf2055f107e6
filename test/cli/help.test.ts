import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { docket } from '../support/docket.ts';

const leaves = (command: Command, path: string[] = []): string[][] =>
  command.commands.length === 0 ? [path] : command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
const commands = leaves(createProgram());

describe('docket --help', () => {
  test.each(commands)('%s %s', async (...path) => {
    const ended = await docket([...path.filter(Boolean), '--help']);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain(`Usage: docket ${path.filter(Boolean).join(' ')}`);
  });

  test('an unknown command and an unknown flag are usage faults', async () => {
    expect((await docket(['no-such-command'])).code).toBe(2);
    expect((await docket(['check', '--no-such-flag'])).code).toBe(2);
  });

  test('the README names every command, and no other', async () => {
    const readme = await readFile('README.md', 'utf8');
    const named = new Set([...readme.matchAll(/`docket ([a-z]+)/g)].map(([, name]) => name));
    expect([...named].sort()).toEqual([...new Set(commands.map(([name]) => name))].sort());
  });

  test('the README’s table of variables is the configuration', async () => {
    const readme = await readFile('README.md', 'utf8');
    const files = ['src/base/config.ts', 'src/base/smtp-variables.ts', 'src/base/trace-variables.ts'];
    const source = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n');
    const known = [...source.matchAll(/^ {2}([A-Z]+_[A-Z0-9_]+): /gm)].map(([, name]) => name);
    const table = readme.slice(readme.indexOf('## Configuration'), readme.indexOf('## A report definition'));
    const named = [...table.matchAll(/`([A-Z]+_[A-Z0-9_]+)`/g)].map(([, name]) => name);
    expect([...new Set(named)].sort()).toEqual([...known].sort());
  });
});
