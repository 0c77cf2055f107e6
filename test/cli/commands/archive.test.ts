import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../src/base/clock.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { runCommand } from '../../support/run-command.ts';
import { deliverRun, RUNS, sealRun, signedOver } from '../../support/signed-archive.ts';

const madeSchema = z.object({ key: z.string(), public_key: z.string(), rotated: z.boolean() });
const findingSchema = z.object({ code: z.string(), path: z.string() });
const verifiedSchema = z.object({
  runs: z.number(),
  signed: z.number(),
  faulty: z.array(z.object({ run: z.string(), findings: z.array(findingSchema) })),
  archive_findings: z.array(findingSchema),
  notes: z.array(findingSchema),
});

let folder = '';
let env: Record<string, string> = {};
const command = (...args: string[]) => runCommand(args, { env, cwd: folder });
const verify = async (...args: string[]) => {
  const { code, stdout } = await command('archive', 'verify', '--json', ...args);
  return { code, ...verifiedSchema.parse(JSON.parse(stdout)) };
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-archive-'));
  env = { DOCKET_ARCHIVE: `file://${folder}/archive` };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('archive verify accepts rotated keys, and reports changed manifests and removed runs', async () => {
  expect(await command('archive', 'checkpoint')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('request.not_found'),
  });
  const key = join(folder, 'signing.pem');
  const made = madeSchema.parse(JSON.parse((await command('init', '--signing-key', key, '--json')).stdout));
  expect(made).toEqual({ key, public_key: `${key}.pub`, rotated: false });
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  expect(await readFile(`${key}.pub`, 'utf8')).not.toContain('PRIVATE');

  const storage = directoryStorage(join(folder, 'archive'));
  const sign = async (run: string) => {
    const signed = signedOver(storage, await readFile(key, 'utf8'), systemClock);
    await deliverRun(signed, await sealRun(signed, run, Date.now()), Date.now());
  };
  await sign(RUNS.a);
  const old = await readFile(`${key}.pub`, 'utf8');
  await writeFile(join(folder, 'old.pem'), old);
  expect(await verify('--public-key', join(folder, 'old.pem'))).toMatchObject({
    code: 0,
    runs: 1,
    signed: 1,
    notes: [],
  });

  // Another key takes over. What the first key signed stays trusted.
  const rotated = await command('init', '--signing-key', key);
  expect(rotated.code).toBe(0);
  expect(await readFile(`${key}.pub`, 'utf8')).toContain(old.trim());
  await sign(RUNS.b);
  expect(await verify('--public-key', `${key}.pub`)).toMatchObject({ code: 0, runs: 2, signed: 2, faulty: [] });
  const one = ['--public-key', `${key}.pub`, '--run', RUNS.b.slice(0, 8).toUpperCase()];
  expect(await verify(...one)).toMatchObject({ code: 0, runs: 1, signed: 1, faulty: [] });
  for (const of of [
    ['--run', RUNS.gone],
    ['--run', RUNS.b, '--org', 'globex'],
  ]) {
    const refused = await command('archive', 'verify', ...of);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('run.not_found') });
  }
  env = { ...env, DOCKET_SIGNING_KEY: `file:${key}` };
  expect(await verify()).toMatchObject({ code: 0, notes: [] });
  env = { DOCKET_ARCHIVE: env.DOCKET_ARCHIVE ?? '' };
  expect(await verify()).toMatchObject({ code: 0, notes: [{ code: 'key.own' }] });
  // A verifier that trusts only the first key does not trust later signatures.
  expect(await verify('--public-key', join(folder, 'old.pem'))).toMatchObject({
    code: 1,
    archive_findings: [{ code: 'chain.key_unknown' }],
  });

  const { stdout: checkpoint } = await command('archive', 'checkpoint', '--org', 'acme');
  await writeFile(join(folder, 'kept.jsonl'), checkpoint);
  const kept = ['--public-key', `${key}.pub`, '--checkpoint', join(folder, 'kept.jsonl')];
  expect(await verify(...kept)).toMatchObject({ code: 0 });
  const { stdout: document } = await command('archive', 'checkpoint', '--json');
  await writeFile(join(folder, 'kept.json'), document);
  expect(await verify('--public-key', `${key}.pub`, '--checkpoint', join(folder, 'kept.json'))).toMatchObject({
    code: 0,
  });

  await appendFile(join(folder, `archive/acme/weekly-kpi/${RUNS.a}/manifest.json`), '\n');
  expect(await verify(...kept)).toMatchObject({
    code: 1,
    faulty: [{ run: RUNS.a, findings: [{ code: 'manifest.changed', path: 'manifest.json' }] }],
  });
  expect(await command('archive', 'verify')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('[manifest.changed]'),
  });
  // The manifest is consistent in itself: only the check with the key finds the change.
  const get = (out: string, more: Record<string, string>) =>
    runCommand(['runs', 'get', RUNS.a, '--out', out], { env: { ...env, ...more }, cwd: folder });
  expect(await get('without', {})).toMatchObject({ code: 0 });
  expect(await get('with', { DOCKET_SIGNING_KEY: `file:${key}` })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('archive.corrupt'),
  });
  await rm(join(folder, 'archive/acme'), { recursive: true });
  expect(await verify(...kept)).toMatchObject({
    code: 1,
    archive_findings: expect.arrayContaining([{ code: 'chain.cut', path: '--checkpoint' }]),
  });
});

test('an invalid reference, key file or checkpoint is rejected without repeating its content', async () => {
  const planted = 'c2VjcmV0';
  const file = join(folder, 'no-key.pem');
  await writeFile(file, `-----BEGIN PRIVATE KEY-----\n${planted}\n-----END PRIVATE KEY-----\n`);
  for (const [given, args] of [
    [{ DOCKET_SIGNING_KEY: planted }, []],
    [{ DOCKET_SIGNING_KEY: `file:${file}` }, []],
    [{}, ['--public-key', file]],
    [{}, ['--public-key', join(folder, 'not-there')]],
    [{}, ['--checkpoint', file]],
  ] as const) {
    const { code, stdout, stderr } = await runCommand(['archive', 'verify', ...args], {
      env: { ...env, ...given },
      cwd: folder,
    });
    expect(code).toBe(2);
    expect(`${stdout}${stderr}`).not.toContain(planted);
  }
  const refused = await command('init', '--signing-key', file);
  expect(refused).toMatchObject({ code: 2 });
  expect(await readFile(file, 'utf8')).toContain(planted);
});

test('a lost key is replaced by its public part and a reason, which every verification shows', async () => {
  const place = await mkdtemp(join(folder, 'lost-'));
  const key = join(place, 'signing.pem');
  const own = { DOCKET_ARCHIVE: `file://${place}/archive` };
  const run = (...args: string[]) => runCommand(args, { env: own, cwd: place });
  const replace = (...more: string[]) => run('init', '--signing-key', key, '--lost-key', 'disk failed', ...more);
  const seal = async (id: string) =>
    sealRun(
      signedOver(directoryStorage(join(place, 'archive')), await readFile(key, 'utf8'), systemClock),
      id,
      Date.now(),
    );
  const refused = { code: 2, stderr: expect.stringContaining('usage.invalid') };
  expect(await run('init', '--lost-key', 'disk failed')).toMatchObject(refused);
  expect(await replace()).toMatchObject(refused);
  await run('init', '--signing-key', key);
  await seal(RUNS.a);
  const before = await readFile(key, 'utf8');
  expect(await replace()).toMatchObject(refused);
  expect(await readFile(key, 'utf8')).toBe(before);

  await rm(key);
  expect(await run('init', '--signing-key', key, '--lost-key', ' ')).toMatchObject(refused);
  expect(await replace('--json')).toMatchObject({ code: 0 });
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  await seal(RUNS.b);
  for (let round = 0; round < 2; round += 1) {
    const { code, stdout } = await run('archive', 'verify', '--public-key', `${key}.pub`, '--json');
    const { notes, signed, archive_findings } = verifiedSchema.parse(JSON.parse(stdout));
    expect({ code, signed, archive_findings }).toEqual({ code: 0, signed: 2, archive_findings: [] });
    expect(notes.map((note) => note.code)).toEqual(['key.break', 'key.break']);
    expect(stdout).toContain('disk failed');
    // The next key keeps the note.
    await run('init', '--signing-key', key);
  }
  // A damaged key file counts as lost.
  await writeFile(key, 'damaged');
  expect(await replace()).toMatchObject({ code: 0 });
});
