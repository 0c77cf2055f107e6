import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { attemptFromDecision } from '../../../src/deliver/archive/archive.ts';
import { createArchive } from '../../../src/deliver/archive/create-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import type { Deployment } from '../../../src/services/deployment/deployment.ts';
import { loadRunHistory, NO_HISTORY } from '../../../src/services/runs/run-history.ts';
import { manifestOf, writeArtifact } from '../../support/delivery-case.ts';
import { fake } from '../../support/fake.ts';
import { runOf, unknown } from '../../support/page-data.ts';
import { recordingLog } from '../../support/queue-harness.ts';

async function archived() {
  const root = await mkdtemp(join(tmpdir(), 'docket-history-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const storage = directoryStorage(root);
  const archive = createArchive(storage, systemClock);
  const record = runOf('history', 'partly_delivered', { report: 'weekly' });
  const { id, org, report } = record;
  const staged = await archive.stage(id);
  const artifacts = [await writeArtifact(staged, 'a.csv', 'a')];
  const manifest = { ...manifestOf(artifacts, id), org, report };
  const published = await archive.publish(staged, manifest, artifacts, { html: '', text: '', pictures: [] });
  const log = recordingLog();
  return { root, record, manifest, published, archive, log, ports: fake<Deployment>({ storage, log }) };
}

const attempt = (epoch: number, state: 'sending' | 'sent' | 'unknown', at: number) =>
  ({ delivery: unknown.id, target: '0-email', epoch, state, detail: `${state} ${epoch}`, at }) as const;

it('the history has the results of a delivery before and after decisions, in order', async () => {
  const { record, published, archive, ports } = await archived();
  const row = { ...unknown, run: record.id };
  const declared = { to: 'sent', by: 'anna', reason: 'phone', at: 9 } as const;
  for (const one of [
    attempt(1, 'sending', 1),
    attempt(1, 'unknown', 2),
    attempt(3, 'sending', 5),
    attempt(3, 'unknown', 6),
  ]) {
    await archive.putAttempt(published, one);
  }
  await archive.putAttempt(
    published,
    attemptFromDecision({ ...row, state: 'pending', epoch: 2 }, { to: 'pending', by: 'anna', reason: 'x', at: 4 }),
  );
  await archive.putAttempt(published, attemptFromDecision({ ...row, state: 'sent', epoch: 3 }, declared));
  // Another delivery with a single attempt.
  await archive.putAttempt(published, { ...attempt(1, 'sent', 3), delivery: 'e'.repeat(32) });
  const decided = { ...row, state: 'sent', epoch: 3, decisions: [declared] } as const;
  const { events } = await loadRunHistory({ ...record, stageEnds: {} }, [decided], ports);
  expect(events).toEqual([
    { delivery: unknown.id, state: 'unknown', detail: 'unknown 1', at: 2 },
    { delivery: unknown.id, state: 'unknown', detail: 'unknown 3', at: 6 },
  ]);
});

it('the history shows the start of an attempt without a recorded result', async () => {
  const { record, published, archive, ports } = await archived();
  await archive.putAttempt(published, attempt(1, 'unknown', 2));
  await archive.putAttempt(published, attempt(3, 'sending', 5));
  const { events } = await loadRunHistory(record, [{ ...unknown, epoch: 3 }], ports);
  expect(events.map(({ state }) => state)).toEqual(['unknown', 'sending']);
});

it('the history has the time of the files only for a record of an older version', async () => {
  const { record, manifest, ports } = await archived();
  expect((await loadRunHistory(record, [], ports)).madeAt).toBe(Date.parse(manifest.made_at));
  expect(await loadRunHistory({ ...record, stageEnds: { seal: 1 } }, [unknown], ports)).toEqual(NO_HISTORY);
  expect(await loadRunHistory({ ...record, id: 'd'.repeat(32) }, [], ports)).toEqual(NO_HISTORY);
});

it('the history is empty, with a warning in the log, if the archive cannot be read', async () => {
  const { root, record, ports, log } = await archived();
  await writeFile(join(root, record.org, record.report, record.id, 'manifest.json'), '{');
  expect(await loadRunHistory(record, [], ports)).toEqual(NO_HISTORY);
  expect(log.lines).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      run: record.id,
      error: expect.objectContaining({ code: 'archive.corrupt' }),
    }),
  );
});
