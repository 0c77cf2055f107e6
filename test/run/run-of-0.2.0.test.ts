import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import { templateVariables } from '../../src/deliver/targets/target.ts';
import { webhookBody } from '../../src/deliver/targets/webhook/webhook-message.ts';
import { toRunResult } from '../../src/run/run-result.ts';
import { readRecording, restoreRecording } from '../recorded/recording.ts';

const RECORDED = fileURLToPath(new URL('../recorded/0.2.0/', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-stored-'));
  await restoreRecording(RECORDED, folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('a run that 0.2.0 stored is read as a run without usual ranges and small numbers', async () => {
  const archive = directoryArchive(join(folder, 'archive'));
  const { runs } = await readRecording(RECORDED);
  const stored = await Promise.all(runs.map((run) => archive.find(run)));
  const published = stored.flatMap((each) => each ?? []);
  expect(published.length).toBeGreaterThan(8);
  for (const each of published) {
    const { manifest, artifacts } = each;
    expect(manifest).not.toHaveProperty('ranges');
    expect(manifest).not.toHaveProperty('small');
    expect(templateVariables(manifest).headline_range).toEqual({ low: '', high: '', state: '' });
    const { data } = JSON.parse(webhookBody(manifest, artifacts, new Map(), true));
    expect(data).toMatchObject({ run: manifest.run, files: artifacts.map(({ name, sha256 }) => ({ name, sha256 })) });
    expect(data).not.toHaveProperty('ranges');
    expect(toRunResult('done', each, [])).toMatchObject({ headlines: manifest.headlines, ranges: undefined });
  }
});
