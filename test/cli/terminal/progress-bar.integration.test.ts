import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { runCommand } from '../../support/run-command.ts';

const ESCAPE = '\u001B';
const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';

describe('progress of docket run', () => {
  let sandbox: Sandbox;
  let folder: string;
  let env: Record<string, string>;
  const args = () => ['run', 'demo/weekly-kpi', '--no-deliver', '--out', join(folder, 'out')];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-bar-'));
    // A sandbox per test: several runs with one key would wait for its budget.
    sandbox = await startSandbox();
    const key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
    env = { COMPLIANCE_API_URL: sandbox.url, DEMO_API_KEY: key };
  });
  afterEach(async () => {
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('draws the calls as a bar; at the end it clears the bar and shows the cursor', async () => {
    const { code, screen } = await runCommand(args(), { env, terminal: {} });
    expect(code).toBe(0);
    expect(screen).toContain(HIDE_CURSOR);
    expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(screen.lastIndexOf(HIDE_CURSOR));
    expect(screen).toMatch(/█{24} {2}rendering/);
    expect(screen.slice(screen.lastIndexOf(SHOW_CURSOR))).not.toMatch(/[█░]/);
    expect(stripVTControlCharacters(screen)).toMatch(/demo\/weekly-kpi \S+: done, \d+ API calls/);
  });

  test('never draws a line wider than the terminal', async () => {
    const { screen } = await runCommand(args(), { env, terminal: { columns: 50 } });
    const drawn = screen.split(new RegExp(`${ESCAPE}\\[[0-9;?]*[A-Za-z]|\r?\n`)).filter((text) => /[█░]/.test(text));
    expect(drawn.length).toBeGreaterThan(0);
    for (const text of drawn) expect([...text].length).toBeLessThan(50);
  });

  test('prints lines without control sequences in a pipe and on a dumb terminal', async () => {
    const piped = await runCommand(args(), { env });
    expect(piped.stderr).toMatch(/fetch +\d+ calls/);
    expect(piped.stdout + piped.stderr).not.toContain(ESCAPE);
    await rm(join(folder, 'out'), { recursive: true });
    const dumb = await runCommand(args(), { env: { ...env, TERM: 'dumb' }, terminal: {} });
    expect(dumb.screen).toMatch(/fetch +\d+ calls/);
    expect(dumb.screen).not.toContain(ESCAPE);
  });
});
