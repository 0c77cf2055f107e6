import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { composeInline, type InlineContext } from '../../src/compose/run-ports.ts';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import { run } from '../../src/run/run.ts';
import { createRunOrder } from '../../src/run/run-order.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';

const jobs = await loadDefinitions('jobs');

describe('the definitions in jobs/', () => {
  let sandbox: Sandbox;
  let folder: string;
  let inline: InlineContext;
  beforeAll(async () => {
    sandbox = await startSandbox();
    folder = await mkdtemp(join(tmpdir(), 'docket-jobs-'));
    inline = await composeInline(
      {
        config: readConfig({ COMPLIANCE_API_URL: sandbox.url }),
        env: { DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key },
        clock: systemClock,
        log: silentLog,
      },
      directoryArchive(folder),
    );
  });
  afterAll(async () => {
    await inline.scope.close();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('have no faults', () => {
    expect(jobs.diagnostics).toEqual([]);
    expect(jobs.reports.size).toBeGreaterThanOrEqual(2);
  });

  test.each([...jobs.reports.keys()])('%s is planned and rendered with every figure', async (name) => {
    const { definition, settings } = requireReport(jobs, name);
    const now = systemClock.now();
    const order = createRunOrder({
      definition,
      settings,
      trigger: 'cli',
      priority: 'on_demand',
      slot: 'trigger:test',
      at: now,
      deliver: false,
      now,
    });
    const context = {
      definition,
      settings,
      signal: new AbortController().signal,
      observe: () => {},
      lastAttempt: true,
    };
    const outcome = await run(order, context, await inline.buildRunPorts(settings));
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done', incomplete: [] } });
    if (outcome.kind !== 'done') return;
    const formats = new Set(outcome.value.files.map(({ format }) => format));
    // CSV files come with a schema of their columns.
    formats.delete('schema');
    expect(formats).toEqual(new Set(definition.outputs.map(({ format }) => format)));
    for (const { bytes } of outcome.value.files) expect(bytes).toBeGreaterThan(0);
  });
});
