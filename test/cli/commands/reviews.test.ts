import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newToken } from '../../../src/admin/auth/tokens.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { openReviews } from '../../../src/compose/archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { DEFAULT_KEY_PREFIX } from '../../../src/redis/keys.ts';
import { storeFigures } from '../../../src/run/review/frozen-figures.ts';
import { contentFile, loadReview, type Reviews } from '../../../src/run/review/load-review.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import { dataset, MADE_AT, onboarding } from '../../support/dataset.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../support/queue-harness.ts';
import { definitionOf, settingsOf } from '../../support/reports.ts';
import { DOCKET_ACTOR, REVIEW_INPUTS } from '../../support/review-harness.ts';
import { type RunOptions, runCommand } from '../../support/run-command.ts';

const reviewSchema = z.looseObject({ phase: z.string(), content: z.string(), approvals: z.array(z.unknown()) });
const tokens = { mia: newToken(), anna: newToken(), rival: newToken() };

describe('review commands', () => {
  let folder: string;
  let redis: LocalRedis;
  let harness: QueueHarness;
  let reviews: Reviews;
  let env: Record<string, string>;
  let run: RunRecord;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-review-'));
    redis = await localRedis({ PATH: process.env.PATH });
    harness = await openQueueHarness(systemClock, DEFAULT_KEY_PREFIX, silentLog, redis.url);
    const storage = directoryStorage(join(folder, 'archive'));
    reviews = openReviews(storage);
    const file = join(folder, 'tokens.yaml');
    const entry = (name: keyof typeof tokens, role: string, org: string) =>
      `- { name: ${name}, sha256: ${tokens[name].sha256}, role: ${role}, orgs: [${org}] }\n`;
    await writeFile(
      file,
      entry('mia', 'viewer', 'acme') + entry('anna', 'operator', 'acme') + entry('rival', 'operator', 'rival'),
    );
    env = { REDIS_URL: redis.url, DOCKET_ARCHIVE: `file://${join(folder, 'archive')}`, DOCKET_ADMIN_TOKENS: file };
    // This first command connects the empty Redis with the empty archive.
    await docket(undefined, ['comment', 'f'.repeat(32), '--text', 'x']);
  });
  afterAll(async () => {
    await harness.close();
    await redis.close();
    await rm(folder, { recursive: true, force: true });
  });

  const open = async () => {
    const order = anOrder({ report: 'weekly' });
    const { record } = await harness.runs.open(order);
    run = record;
    const figures = await storeFigures(reviews, record, {
      order,
      definition: definitionOf([{ id: 'onboarding', metrics: ['profiles.created'], commentary: 'required' }]),
      settings: settingsOf(),
      docket: '0.0.0',
      madeAt: MADE_AT,
      conditions: { conditions: [] },
      dataset: dataset([onboarding]),
      review: {
        ...REVIEW_INPUTS,
        sections: [{ id: 'onboarding', required: true }],
        people: { ...REVIEW_INPUTS.people, dora: { name: 'Dora', tokens: ['dora'], accounts: [] } },
      },
      files: [],
    });
    await reviews.append(record, 1, { seq: 1, at: 5, by: DOCKET_ACTOR, type: 'figures', figures });
    const review = { seq: 1, phase: 'comments', content: null } as const;
    await harness.runs.update(record.id, { state: 'held', review, finishedAt: Date.now() });
  };
  const docket = (as: keyof typeof tokens | undefined, args: readonly string[], options: RunOptions = {}) =>
    runCommand(args, { ...options, env: { ...env, ...(as && { DOCKET_TOKEN: tokens[as].token }), ...options.env } });
  const contentNow = async () => (await loadReview(reviews, run)).state.content ?? '';
  const codeOf = ({ stdout }: { readonly stdout: string }) =>
    z.object({ error: z.looseObject({ code: z.string() }) }).parse(JSON.parse(stdout)).error.code;

  test('correct and send to somebody only within the organizations of the token, and as an operator', async () => {
    await open();
    const why = ['--reason', 'wrong figures', '--json'];
    const jobs = { env: { DOCKET_JOBS: await mkdtemp(join(folder, 'jobs-')) } };
    for (const command of [
      ['corrections', 'open', run.id, ...why],
      ['deliveries', 'send', run.id, '--to', 'board@acme.example', ...why],
    ]) {
      expect(codeOf(await docket('rival', command, jobs)), command[0]).toBe('run.not_found');
      expect(codeOf(await docket('mia', command, jobs)), command[0]).toBe('auth.forbidden');
      // The run was never delivered, so nobody can correct or send it.
      expect(codeOf(await docket('anna', command, jobs)), command[0]).not.toMatch(/^(auth|run.not_found)/);
    }
    const unnamed = { env: { DOCKET_TOKEN: newToken().token, ...jobs.env } };
    expect(codeOf(await docket(undefined, ['corrections', 'open', run.id, ...why], unnamed))).toBe('auth.invalid');
  });

  test('let different people comment, delegate and approve with their tokens', async () => {
    await open();
    const note = join(folder, 'note.md');
    await writeFile(note, '- Up to {{ onboarding.profiles.created }}.\r\n- Not 7,123 profiles created.\n');
    const commented = await docket('anna', [
      'comment',
      run.id.slice(0, 12),
      '--section',
      'onboarding',
      '--file',
      note,
      '--json',
    ]);
    expect(commented).toMatchObject({ code: 0 });
    expect(JSON.parse(commented.stdout)).toMatchObject({
      review: { phase: 'approval', comments: [{ author: 'anna' }] },
      warnings: [{ number: '7,123' }],
    });
    expect(await harness.runs.get(run.id)).toMatchObject({
      state: 'queued',
      reopened: [{ what: 'review', by: 'anna' }],
    });
    const content = await contentNow();
    const delegate = ['runs', 'delegate', run.id, '--to', 'dora', '--reason', 'on leave', '--json'];
    expect(codeOf(await docket('anna', delegate))).toBe('review.not_allowed');
    expect(codeOf(await docket('mia', [...delegate, '--until', 'friday']))).toBe('usage.invalid');
    expect(JSON.parse((await docket('mia', delegate)).stdout)).toMatchObject({
      delegations: [{ from: 'Mia Lro', to: 'Dora', until: null }],
    });
    const approve = ['runs', 'approve', run.id, '--reason', 'checked'];
    // Without a terminal nobody has seen the content, so it must be named.
    const unnamed = await docket('mia', approve);
    expect(unnamed).toMatchObject({ code: 2, stdout: '' });
    expect(unnamed.stderr).toContain(content.slice(0, 12));
    expect(codeOf(await docket('anna', [...approve, '--content', content, '--json']))).toBe('review.not_allowed');
    expect(codeOf(await docket('mia', [...approve, '--content', 'f'.repeat(12), '--json']))).toBe(
      'review.content_changed',
    );
    const approved = await docket('mia', [...approve, '--content', content.slice(0, 12), '--json']);
    expect(reviewSchema.parse(JSON.parse(approved.stdout))).toMatchObject({
      phase: 'ready',
      approvals: [{ name: 'Mia Lro' }],
    });
    const shown = await docket(undefined, ['runs', 'show', run.id, '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ review: { phase: 'ready' } });
    const events = await reviews.events(run);
    expect(events.map(({ type, by }) => [type, by.principal])).toEqual([
      ['figures', 'docket'],
      ['comment', 'token:anna'],
      ['delegate', 'token:mia'],
      ['approve', 'token:mia'],
    ]);
  });

  test('need a valid token of the organization, and never accept a name instead', async () => {
    await open();
    const approve = ['runs', 'approve', run.id, '--reason', 'x', '--content', await contentNow(), '--json'];
    expect(codeOf(await docket(undefined, approve))).toBe('usage.invalid');
    expect(codeOf(await docket(undefined, approve, { env: { DOCKET_TOKEN: 'docket_guessed' } }))).toBe('auth.invalid');
    expect(codeOf(await docket('rival', approve))).toBe('run.not_found');
    expect(codeOf(await docket('rival', ['comment', run.id, '--text', 'x', '--json']))).toBe('run.not_found');
    expect(codeOf(await docket('mia', ['comment', run.id, '--text', 'x', '--json']))).toBe('auth.forbidden');
    expect(codeOf(await docket('anna', ['comment', run.id, '--json']))).toBe('usage.invalid');
    expect(codeOf(await docket('mia', [...approve, '--by', 'mlro']))).toBe('usage.invalid');
    expect(await reviews.events(run)).toHaveLength(1);
  });

  test('let the shell user comment and withdraw, and copy no review files before they exist', async () => {
    await open();
    expect(await docket(undefined, ['comment', run.id, '--text', 'By hand.'])).toMatchObject({ code: 0 });
    const [, comment] = await reviews.events(run);
    expect(comment?.by.principal).toMatch(/^shell:/);
    expect(await docket(undefined, ['comment', run.id, '--withdraw'])).toMatchObject({ code: 0 });
    expect((await loadReview(reviews, run)).state.comments).toEqual([]);
    const out = join(folder, 'out');
    expect(codeOf(await docket(undefined, ['runs', 'get', run.id, '--review', '--out', out, '--json']))).toBe(
      'run.conflict',
    );
    await expect(readdir(out)).rejects.toThrow();
    expect(await reviews.get(run, contentFile(await contentNow(), 'manifest.json'))).toBeUndefined();
  });

  test('show on a terminal what is approved, and ask for confirmation', async () => {
    await open();
    await docket('anna', ['comment', run.id, '--section', 'onboarding', '--text', 'As planned.']);
    const approve = ['runs', 'approve', run.id, '--reason', 'checked'];
    const press = (key: string) => (screen: string) => (screen.includes('Approve content') ? key : undefined);
    const no = await docket('mia', approve, { terminal: { columns: 80, press: press('n\r') } });
    expect(no.code).not.toBe(0);
    expect(no.screen).toContain('As planned.');
    expect((await loadReview(reviews, run)).state.approvals).toEqual([]);
    const yes = await docket('mia', approve, { terminal: { columns: 80, press: press('y\r') } });
    expect(yes).toMatchObject({ code: 0 });
    expect((await loadReview(reviews, run)).state.phase).toBe('ready');
  });
});
