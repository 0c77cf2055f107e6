import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { localRedis } from '../../src/demo/local-redis.ts';
import { parseFault, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { builtMain } from '../support/built-main.ts';
import { docket } from '../support/docket.ts';
import { freePort } from '../support/free-port.ts';
import { typeInto, withDocketOnPath } from '../support/interactive-shell.ts';
import { jobsFolder, ORG, REPORT } from '../support/jobs-folder.ts';
import { CTRL_C, runOnTerminal } from '../support/pseudo-terminal.ts';
import { startDocket } from '../support/running-docket.ts';

// Runs the real program. Tests that need no process use runCommand.
describe('the docket process', () => {
  let sandbox: Sandbox;
  let env: Record<string, string>;
  let folder: string;
  const out = () => join(folder, 'out');
  const run = () => ['run', 'demo/weekly-kpi', '--no-deliver', '--out', out()];

  beforeAll(async () => {
    sandbox = await startSandbox();
    const key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
    env = { COMPLIANCE_API_URL: sandbox.url, DEMO_API_KEY: key };
  });
  afterAll(() => sandbox.close());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-process-'));
    onTestFinished(async () => {
      sandbox.setFaults([]);
      await rm(folder, { recursive: true, force: true });
    });
  });

  test('prints its version, and exits with 2 without a command', async () => {
    expect(await docket(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+/) });
    expect((await docket([])).code).toBe(2);
  });

  test('prints one JSON document of a run on stdout, and the progress on stderr', async () => {
    const { code, stdout, stderr } = await docket([...run(), '--json'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/plan +\d+ calls/) });
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done' });
  });

  test('exits with 2 for an invalid environment', async () => {
    const { code, stdout, stderr } = await docket(['check', '--json'], { env: { LOG_LEVEL: 'loud' } });
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'config.invalid' } });
    expect(stderr).toContain('LOG_LEVEL');
  });

  test('exits without an error when the reader closes the pipe', async () => {
    const line = `set -o pipefail; '${process.execPath}' '${builtMain()}' schema | head -1`;
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line]);
    expect({ stdout, stderr }).toEqual({ stdout: '{\n', stderr: '' });
  });

  test('finishes a run after its stderr was closed', async () => {
    const child = spawn(process.execPath, [builtMain(), ...run()], {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await once(child.stderr, 'data');
    child.stderr.destroy();
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(await readdir(out())).toContain('manifest.json');
  });

  test('leaves a clean terminal and no files after Ctrl-C during a run, and exits with 130', async () => {
    sandbox.setFaults([parseFault('latency=60000@/analytics/report/')]);
    let pressed = false;
    const { code, screen } = await runOnTerminal(run(), {
      env,
      press: (shown) => {
        if (pressed || !shown.includes('0/')) return undefined;
        pressed = true;
        return CTRL_C;
      },
    });
    expect(code).toBe(130);
    expect(screen.lastIndexOf('\u001B[?25h')).toBeGreaterThan(screen.lastIndexOf('\u001B[?25l'));
    expect(screen).toContain('run.cancelled');
    expect(screen).not.toMatch(/\n {4}at /);
    expect(await readdir(out()).catch(() => [])).toEqual([]);
  });

  test('reloads definitions on SIGHUP, and exits with 0 on SIGTERM', async () => {
    const redis = await localRedis({ PATH: process.env.PATH });
    onTestFinished(() => redis.close());
    const jobs = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const started = startDocket(['--role', 'scheduler'], {
      env: { REDIS_URL: redis.url, DOCKET_JOBS: jobs, DOCKET_ADMIN_PORT: String(await freePort()) },
      cwd: folder,
    });
    onTestFinished(async () => void (await started.kill()));
    const isInvalid = ({ msg }: { readonly msg: string }) => msg.includes('weekly.yaml:5:');
    await started.logged(({ msg }) => msg === 'Docket runs');
    await writeFile(join(jobs, 'acme/weekly.yaml'), REPORT.replace('previous_week', 'last_weak'));
    await started.logged(isInvalid);
    const before = started.lines.filter(isInvalid).length;
    started.reload();
    await expect.poll(() => started.lines.filter(isInvalid).length).toBeGreaterThan(before);
    expect(await started.stop()).toEqual([0, null]);
  });
});

describe('completion in bash', () => {
  let shell: Awaited<ReturnType<typeof withDocketOnPath>>;
  beforeAll(async () => {
    shell = await withDocketOnPath();
  });
  afterAll(() => shell.close());

  test('completes the name of a report with Tab', async () => {
    const screen = await typeInto('bash --norc --noprofile -i', shell.env, [
      { when: /[$#] $/, press: 'source <(docket completion bash); echo loa""ded\n' },
      { when: /loaded\r?\n[^\n]*[$#] $/, press: 'docket explain demo/wee\t' },
      // Ctrl-U, not Ctrl-C: bash may swallow an interrupt while it still completes.
      { when: /demo\/weekly-kpi $/, press: '\u0015exit\n' },
    ]);
    expect(screen).toContain('docket explain demo/weekly-kpi ');
  });

  test('does not execute the typed words', async () => {
    const { bin, env } = shell;
    const line = `source <(docket completion bash)
      COMP_WORDS=(docket run '$(touch ${bin}/ran)' '\`touch ${bin}/ran\`' 'demo/'); COMP_CWORD=2
      _docket; COMP_CWORD=4; _docket; ls ${bin}`;
    const { stdout } = await promisify(execFile)('bash', ['-c', line], { env });
    expect(stdout.trim()).toBe('docket');
  });
});
