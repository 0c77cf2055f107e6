import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseFault, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { docket } from '../support/docket.ts';
import { CTRL_C, onTerminal } from '../support/terminal.ts';

const ESCAPE = '\u001B';
const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';

describe('docket run, while somebody looks', () => {
  let sandbox: Sandbox;
  let folder: string;
  let env: Record<string, string>;
  const args = () => ['run', 'demo/weekly-kpi', '--no-deliver', '--out', join(folder, 'out')];

  beforeAll(async () => {
    sandbox = await startSandbox();
    const key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
    env = { COMPLIANCE_API_URL: sandbox.url, DEMO_API_KEY: key };
  });
  afterAll(() => sandbox.close());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-bar-'));
  });
  afterEach(async () => {
    sandbox.setFaults([]);
    await rm(folder, { recursive: true, force: true });
  });

  test('draws its calls as a bar that is gone when it is done, and shows the cursor again', async () => {
    const { code, screen } = await onTerminal(args(), { env });
    expect(code).toBe(0);
    expect(screen).toContain(HIDE_CURSOR);
    expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(screen.lastIndexOf(HIDE_CURSOR));
    expect(screen).toMatch(/█{24} {2}making the files/);
    expect(screen.slice(screen.lastIndexOf(SHOW_CURSOR))).not.toMatch(/[█░]/);
    expect(stripVTControlCharacters(screen)).toMatch(/demo\/weekly-kpi \S+: done, \d+ API calls/);
  });

  test('never draws a line that is wider than the terminal', async () => {
    const { screen } = await onTerminal(args(), { env, columns: 50 });
    const drawn = screen.split(new RegExp(`${ESCAPE}\\[[0-9;?]*[A-Za-z]|\r?\n`)).filter((text) => /[█░]/.test(text));
    expect(drawn.length).toBeGreaterThan(0);
    for (const text of drawn) expect([...text].length).toBeLessThan(50);
  });

  test('leaves a clean terminal and nothing half-made on Ctrl-C, and ends as a shell expects it', async () => {
    sandbox.setFaults([parseFault('latency=60000@/analytics/report/')]);
    let pressed = false;
    const { code, screen } = await onTerminal(args(), {
      env,
      press: (shown) => {
        if (pressed || !shown.includes('0/')) return undefined;
        pressed = true;
        return CTRL_C;
      },
    });
    expect(code).toBe(130);
    expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(screen.lastIndexOf(HIDE_CURSOR));
    expect(screen).toContain('run.cancelled');
    expect(screen).not.toMatch(/\n {4}at /);
    expect(await readdir(join(folder, 'out')).catch(() => [])).toEqual([]);
  });

  test('says lines without any control sequence in a pipe and on a dumb terminal', async () => {
    const piped = await docket(args(), { env });
    expect(piped.stderr).toMatch(/call +\d+\/\d+/);
    expect(piped.stdout + piped.stderr).not.toContain(ESCAPE);
    await rm(join(folder, 'out'), { recursive: true });
    const dumb = await onTerminal(args(), { env: { ...env, TERM: 'dumb' } });
    expect(dumb.screen).toMatch(/call +\d+\/\d+/);
    expect(dumb.screen).not.toContain(ESCAPE);
  });
});
