import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ChainEntry, signDocument } from '../../../../src/deliver/archive/chain/signed-document.ts';
import { generateSigningKey } from '../../../../src/deliver/archive/chain/signing-key.ts';
import { directoryStorage } from '../../../../src/deliver/archive/storage/directory-storage.ts';
import { type VerifyInput, verifyArchive } from '../../../../src/deliver/archive/verify/verify-archive.ts';
import type { ArchiveFinding } from '../../../../src/deliver/archive/verify/verify-run.ts';
import { keyFrom, MAILED, RUNS, sha256, signedArchive, TOLD } from '../../../support/signed-archive.ts';

type Made = Awaited<ReturnType<typeof signedArchive>>;

let root = '';
let made: Made;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'docket-tampering-'));
  made = await signedArchive(root);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const A = `acme/weekly-kpi/${RUNS.a}`;
const B = `acme/weekly-kpi/${RUNS.b}`;
const LAST = `acme/weekly-kpi/${RUNS.last}`;

/** A copy of the archive, with functions to damage it. */
function handsOn(base: string) {
  const at = (path: string) => join(base, path);
  const text = (path: string) => readFile(at(path), 'utf8');
  const write = async (path: string, content: string) => {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), content);
  };
  const names = async (folder: string) => (await readdir(at(folder))).sort();
  return {
    text,
    write,
    names,
    append: (path: string, more = ' ') => appendFile(at(path), more),
    edit: async (path: string, from: string | RegExp, to: string) => {
      const before = await text(path);
      const after = before.replace(from, to);
      if (after === before) throw new Error(`nothing to edit in ${path}`);
      await write(path, after);
    },
    cut: (path: string, bytes = 10) => truncate(at(path), bytes),
    remove: (path: string) => rm(at(path), { recursive: true }),
    move: async (from: string, to: string) => {
      await mkdir(dirname(at(to)), { recursive: true });
      await rename(at(from), at(to));
    },
    copy: (from: string, to: string) => cp(at(from), at(to), { recursive: true }),
    swap: async (one: string, other: string) => {
      await rename(at(one), at('swapped'));
      await rename(at(other), at(one));
      await rename(at('swapped'), at(other));
    },
    /** The message file that contains this text. */
    message: async (run: string, holds: string): Promise<string> => {
      for (const name of await names(`${run}/messages`)) {
        const path = `${run}/messages/${name}`;
        if (!name.endsWith('.sha256') && (await text(path)).includes(holds)) return path;
      }
      throw new Error(`no message with ${holds}`);
    },
    entries: async (org = 'acme') => (await names(`${org}/.chain`)).map((name) => `${org}/.chain/${name}`),
    entryOf: async (holds: string): Promise<string> => {
      for (const name of await names('acme/.chain')) {
        if ((await text(`acme/.chain/${name}`)).includes(holds)) return `acme/.chain/${name}`;
      }
      throw new Error(`no entry with ${holds}`);
    },
  };
}
type Hands = ReturnType<typeof handsOn>;

/** Changes a file of a run, and its hash in the manifest. */
async function rehash(on: Hands, run: string, name: string, from: string, to: string): Promise<void> {
  const before = sha256(await on.text(`${run}/${name}`));
  await on.edit(`${run}/${name}`, from, to);
  await on.edit(`${run}/manifest.json`, before, sha256(await on.text(`${run}/${name}`)));
}

/** Forges entries of the chain with the forger's own key. */
async function forge(on: Hands, change: (entry: ChainEntry) => ChainEntry, place: 'end' | 'last' | 'all') {
  const key = keyFrom(generateSigningKey().pem);
  const paths = await on.entries();
  await on.write(`.keys/${key.id}.pem`, key.publicPem);
  const read = async (path: string): Promise<ChainEntry> => JSON.parse(await on.text(path)).body;
  if (place === 'all') {
    let previous: string | null = null;
    for (const path of paths) {
      const text: string = signDocument('chain entry', change({ ...(await read(path)), previous }), key);
      previous = sha256(text);
      await on.write(path, text);
    }
    return;
  }
  const last = paths.at(-1) ?? '';
  const entry = await read(last);
  const next = { ...entry, sequence: entry.sequence + 1, previous: sha256(await on.text(last)) };
  const body = change(place === 'end' ? next : entry);
  await on.write(`acme/.chain/${String(body.sequence).padStart(9, '0')}.json`, signDocument('chain entry', body, key));
}

const digits = (path: string): string => /\.([0-9a-f]{16})\./.exec(path)?.[1] ?? '';

type Case = readonly [what: string, damage: (on: Hands) => Promise<unknown>, code: string, path: string | RegExp];

const CASES: readonly Case[] = [
  // The manifest.
  [
    'a manifest edited',
    (on) => on.edit(`${A}/manifest.json`, 'Weekly KPIs', 'Weekly kpis'),
    'manifest.changed',
    'manifest.json',
  ],
  ['a manifest with a line more', (on) => on.append(`${A}/manifest.json`, '\n'), 'manifest.changed', 'manifest.json'],
  ['a manifest removed', (on) => on.remove(`${A}/manifest.json`), 'manifest.missing', 'manifest.json'],
  ['a manifest truncated', (on) => on.cut(`${A}/manifest.json`), 'manifest.unreadable', 'manifest.json'],
  [
    'manifests of two runs swapped',
    (on) => on.swap(`${A}/manifest.json`, `${B}/manifest.json`),
    'manifest.misplaced',
    'manifest.json',
  ],
  [
    'the organization in a manifest changed',
    (on) => on.edit(`${A}/manifest.json`, '"org": "acme"', '"org": "globex"'),
    'manifest.misplaced',
    'manifest.json',
  ],
  [
    'figures and their hash edited together',
    (on) => rehash(on, A, 'files/queue.csv', 'alerts', 'alarms'),
    'manifest.changed',
    'manifest.json',
  ],
  [
    'the e-mail and its hash edited together',
    (on) => rehash(on, A, 'mail.html', 'well', 'fine'),
    'manifest.changed',
    'manifest.json',
  ],
  [
    'a manifest without its period',
    (on) => on.edit(`${A}/manifest.json`, '2026-11-15', '2026-11-14'),
    'manifest.changed',
    'manifest.json',
  ],
  // Files.
  ['a file edited', (on) => on.append(`${A}/files/queue.csv`), 'file.changed', 'files/queue.csv'],
  ['a file removed', (on) => on.remove(`${A}/files/queue.csv`), 'file.missing', 'files/queue.csv'],
  ['a file truncated', (on) => on.cut(`${A}/files/KPIs.xlsx`), 'file.changed', 'files/KPIs.xlsx'],
  ['a file added', (on) => on.write(`${A}/files/more.csv`, 'x'), 'file.added', 'files/more.csv'],
  ['a file renamed', (on) => on.move(`${A}/files/queue.csv`, `${A}/files/line.csv`), 'file.added', 'files/line.csv'],
  [
    'two files of a run swapped',
    (on) => on.swap(`${A}/files/queue.csv`, `${A}/files/KPIs.xlsx`),
    'file.changed',
    'files/KPIs.xlsx',
  ],
  [
    'a file of another run',
    (on) => on.copy(`${B}/files/queue.csv`, `${A}/files/queue.csv`),
    'file.changed',
    'files/queue.csv',
  ],
  ['the text of the e-mail edited', (on) => on.append(`${A}/mail.txt`), 'file.changed', 'mail.txt'],
  ['the e-mail removed', (on) => on.remove(`${A}/mail.html`), 'file.missing', 'mail.html'],
  ['a picture added', (on) => on.write(`${A}/mail-chart.png`, 'x'), 'file.added', 'mail-chart.png'],
  ['a file beside the papers added', (on) => on.write(`${A}/note.txt`, 'x'), 'file.added', 'note.txt'],
  // Messages.
  [
    'a message edited',
    async (on) => on.append(await on.message(A, 'second')),
    'message.changed',
    /^messages\/1+\..*eml$/,
  ],
  ['a message removed', async (on) => on.remove(await on.message(A, 'second')), 'message.missing', /^messages\/1+/],
  [
    'a message truncated',
    async (on) => on.cut(await on.message(A, 'first')),
    'message.changed',
    /^messages\/1+\..*eml$/,
  ],
  [
    'a message and its hash removed',
    async (on) => {
      const path = await on.message(A, 'second');
      await on.remove(path);
      await on.remove(`${path}.sha256`);
    },
    'message.missing',
    /^messages\/1+/,
  ],
  [
    'the hash of a message edited',
    async (on) => on.edit(`${await on.message(A, 'second')}.sha256`, /^./, 'g'),
    'message.changed',
    /^messages\/1+/,
  ],
  [
    'the hash of a message removed',
    async (on) => on.remove(`${await on.message(A, 'second')}.sha256`),
    'message.hash_missing',
    /^messages\/1+/,
  ],
  [
    'the name in a message’s hash file edited',
    async (on) => on.edit(`${await on.message(A, 'second')}.sha256`, '.eml', '.EML'),
    'message.changed',
    /sha256$/,
  ],
  [
    'a message, its hash, its name and its attempt edited together',
    async (on) => {
      const path = await on.message(A, 'second');
      const before = sha256(await on.text(path));
      await on.edit(path, 'second', 'another');
      const after = sha256(await on.text(path));
      const to = path.replace(digits(path), after.slice(0, 16));
      await on.move(path, to);
      await on.write(`${to}.sha256`, `${after}  ${to.split('/').at(-1)}\n`);
      await on.remove(`${path}.sha256`);
      for (const end of ['', '.end']) await on.edit(`${A}/attempts/${MAILED}.3${end}.json`, before, after);
    },
    'paper.changed',
    `attempts/${MAILED}.3.json`,
  ],
  [
    'a message added with its hash',
    async (on) => {
      const digest = sha256('Subject: x');
      const name = `${MAILED}.${digest.slice(0, 16)}.eml`;
      await on.write(`${A}/messages/${name}`, 'Subject: x');
      await on.write(`${A}/messages/${name}.sha256`, `${digest}  ${name}\n`);
    },
    'paper.added',
    /^messages\/1+\..*eml$/,
  ],
  [
    'messages of two runs swapped',
    async (on) => on.swap(await on.message(A, 'second'), await on.message(B, 'second')),
    'message.changed',
    /^messages\/1+/,
  ],
  [
    'what a webhook was told edited',
    async (on) => on.append(await on.message(A, '"run"')),
    'message.changed',
    /^messages\/2+\..*json$/,
  ],
  // Attempts, ends and decisions.
  [
    'an attempt edited',
    (on) => on.edit(`${A}/attempts/${MAILED}.1.json`, /"at": \d+/, '"at": 7'),
    'paper.changed',
    `attempts/${MAILED}.1.json`,
  ],
  [
    'an attempt removed',
    (on) => on.remove(`${A}/attempts/${MAILED}.1.json`),
    'paper.missing',
    `attempts/${MAILED}.1.json`,
  ],
  ['all attempts removed', (on) => on.remove(`${A}/attempts`), 'paper.missing', `attempts/${TOLD}.1.end.json`],
  [
    'an attempt truncated',
    (on) => on.cut(`${A}/attempts/${TOLD}.1.json`),
    'paper.unreadable',
    `attempts/${TOLD}.1.json`,
  ],
  [
    'an end edited',
    (on) => on.edit(`${A}/attempts/${MAILED}.1.end.json`, 'unknown', 'sent'),
    'paper.changed',
    `attempts/${MAILED}.1.end.json`,
  ],
  [
    'an end removed',
    (on) => on.remove(`${A}/attempts/${MAILED}.3.end.json`),
    'paper.missing',
    `attempts/${MAILED}.3.end.json`,
  ],
  [
    'an end added',
    (on) => on.copy(`${A}/attempts/${MAILED}.3.end.json`, `${A}/attempts/${MAILED}.9.end.json`),
    'paper.added',
    `attempts/${MAILED}.9.end.json`,
  ],
  [
    'ends of two attempts swapped',
    (on) => on.swap(`${A}/attempts/${MAILED}.1.end.json`, `${A}/attempts/${MAILED}.3.end.json`),
    'paper.changed',
    `attempts/${MAILED}.1.end.json`,
  ],
  [
    'a decision edited',
    (on) => on.edit(`${A}/attempts/${MAILED}.2.decision.json`, 'ada', 'bob'),
    'paper.changed',
    `attempts/${MAILED}.2.decision.json`,
  ],
  [
    'a decision removed',
    (on) => on.remove(`${A}/attempts/${MAILED}.2.decision.json`),
    'paper.missing',
    `attempts/${MAILED}.2.decision.json`,
  ],
  [
    'a decision renamed to another attempt',
    (on) => on.move(`${A}/attempts/${MAILED}.2.decision.json`, `${A}/attempts/${MAILED}.4.decision.json`),
    'paper.missing',
    `attempts/${MAILED}.2.decision.json`,
  ],
  [
    'a decision added',
    (on) => on.copy(`${A}/attempts/${MAILED}.2.decision.json`, `${A}/attempts/${TOLD}.1.decision.json`),
    'paper.added',
    `attempts/${TOLD}.1.decision.json`,
  ],
  // Receipts and the release.
  ['receipts edited', (on) => on.edit(`${A}/receipts.json`, '250 Ok', '250 ok'), 'paper.changed', 'receipts.json'],
  ['receipts removed', (on) => on.remove(`${A}/receipts.json`), 'paper.missing', 'receipts.json'],
  ['receipts truncated', (on) => on.cut(`${A}/receipts.json`), 'paper.unreadable', 'receipts.json'],
  [
    'receipts replayed as they were before',
    (on) => on.edit(`${A}/receipts.json`, '"sent"', '"unknown"'),
    'paper.changed',
    'receipts.json',
  ],
  [
    'receipts of another run',
    (on) => on.copy(`${LAST}/receipts.json`, `${A}/receipts.json`),
    'paper.changed',
    'receipts.json',
  ],
  ['a release edited', (on) => on.edit(`${A}/release.json`, 'known gap', 'no gap'), 'paper.changed', 'release.json'],
  ['a release removed', (on) => on.remove(`${A}/release.json`), 'paper.missing', 'release.json'],
  [
    'a release of another run added',
    (on) => on.copy(`${A}/release.json`, `${B}/release.json`),
    'paper.added',
    'release.json',
  ],
  // Runs.
  ['a run removed', (on) => on.remove(A), 'run.missing', A],
  ['the newest run removed', (on) => on.remove(LAST), 'run.missing', LAST],
  [
    'all runs of an organization removed',
    (on) => on.remove('globex/weekly-kpi'),
    'run.missing',
    `globex/weekly-kpi/${RUNS.a}`,
  ],
  ['a run renamed', (on) => on.move(A, `acme/weekly-kpi/${'e'.repeat(32)}`), 'run.missing', A],
  ['a run moved to another report', (on) => on.move(A, `acme/other/${RUNS.a}`), 'run.missing', A],
  ['a run moved to another organization', (on) => on.move(B, `globex/weekly-kpi/${RUNS.b}`), 'run.missing', B],
  ['two runs swapped', (on) => on.swap(A, B), 'manifest.misplaced', 'manifest.json'],
  [
    'a run added that agrees with itself',
    async (on) => {
      const id = 'e'.repeat(32);
      await on.copy(B, `acme/weekly-kpi/${id}`);
      await on.edit(`acme/weekly-kpi/${id}/manifest.json`, RUNS.b, id);
      await on.edit(`acme/weekly-kpi/${id}/manifest.json`, /"made_at": ".*"/, '"made_at": "2026-11-17T08:00:00.000Z"');
    },
    'run.unchained',
    `acme/weekly-kpi/${'e'.repeat(32)}`,
  ],
  [
    'a run that retention removed put back',
    async (on) => {
      const gone = `acme/weekly-kpi/${RUNS.gone}`;
      await on.copy(B, gone);
      await on.edit(`${gone}/manifest.json`, RUNS.b, RUNS.gone);
    },
    'run.restored',
    `acme/weekly-kpi/${RUNS.gone}`,
  ],
  [
    'the pointer of a run edited',
    (on) => on.write(`${A}/chain.json`, '{"sequence":2}\n'),
    'paper.changed',
    'chain.json',
  ],
  ['the pointer of a run removed', (on) => on.remove(`${A}/chain.json`), 'paper.missing', 'chain.json'],
  // The chain.
  [
    'an entry edited',
    async (on) => on.edit(await on.entryOf('release.json'), 'release.json', 'release.JSON'),
    'chain.entry_invalid',
    /^acme\/\.chain/,
  ],
  [
    'white space in an entry',
    async (on) => on.append((await on.entries()).at(-1) ?? '', '\n'),
    'chain.entry_invalid',
    /^acme\/\.chain/,
  ],
  [
    'an entry removed',
    async (on) => on.remove(await on.entryOf('release.json')),
    'chain.entry_missing',
    /^acme\/\.chain/,
  ],
  ['the first entry removed', (on) => on.remove('acme/.chain/000000001.json'), 'chain.entry_missing', /000000001/],
  [
    'an entry truncated',
    async (on) => on.cut(await on.entryOf('release.json')),
    'chain.entry_invalid',
    /^acme\/\.chain/,
  ],
  [
    'an entry renamed',
    (on) => on.move('acme/.chain/000000005.json', 'acme/.chain/900000000.json'),
    'chain.entry_missing',
    /000000005/,
  ],
  [
    'two entries swapped',
    (on) => on.swap('acme/.chain/000000005.json', 'acme/.chain/000000006.json'),
    'chain.entry_invalid',
    /000000005/,
  ],
  [
    'an entry replayed at the end',
    async (on) => {
      const count = (await on.entries()).length;
      await on.copy('acme/.chain/000000003.json', `acme/.chain/${String(count + 1).padStart(9, '0')}.json`);
    },
    'chain.entry_invalid',
    /^acme\/\.chain/,
  ],
  [
    'an entry of another organization',
    (on) => on.copy('globex/.chain/000000005.json', 'acme/.chain/000000005.json'),
    'chain.entry_invalid',
    /000000005/,
  ],
  [
    'the end of the chain cut off',
    async (on) => {
      for (const path of (await on.entries()).slice(-3)) await on.remove(path);
    },
    'chain.cut',
    /\.checkpoints/,
  ],
  [
    'the end of the chain cut off with its checkpoints',
    async (on) => {
      for (const path of (await on.entries()).slice(-3)) await on.remove(path);
      for (const name of (await on.names('acme/.checkpoints')).slice(-1)) await on.remove(`acme/.checkpoints/${name}`);
    },
    'chain.cut',
    '--checkpoint',
  ],
  ['the whole chain removed', (on) => on.remove('acme/.chain'), 'chain.missing', 'chain.json'],
  ['an organization removed with everything', (on) => on.remove('acme'), 'chain.cut', '--checkpoint'],
  [
    'an entry added with a key of the forger',
    (on) => forge(on, (entry) => entry, 'end'),
    'chain.key_unknown',
    /^acme\/\.chain/,
  ],
  [
    'the last entry replaced with a key of the forger',
    (on) => forge(on, (entry) => ({ ...entry, files: [] }), 'last'),
    'chain.key_unknown',
    /^acme\/\.chain/,
  ],
  [
    'the whole chain written anew with a key of the forger',
    (on) => forge(on, (entry) => entry, 'all'),
    'chain.key_unknown',
    /^acme\/\.chain/,
  ],
  [
    'a file added to the chain',
    (on) => on.write('acme/.chain/note.json', '{}'),
    'chain.file_added',
    'acme/.chain/note.json',
  ],
  // Tombstones.
  [
    'a tombstone removed',
    async (on) => on.remove(await on.entryOf('kept for a day')),
    'chain.entry_missing',
    /^acme\/\.chain/,
  ],
  [
    'a tombstone edited',
    async (on) => on.edit(await on.entryOf('kept for a day'), 'a day', 'a week'),
    'chain.entry_invalid',
    /^acme\/\.chain/,
  ],
  [
    'a tombstone turned to another run, which is removed',
    async (on) => {
      await on.edit(await on.entryOf('kept for a day'), RUNS.gone, RUNS.a);
      await on.remove(A);
    },
    'run.missing',
    A,
  ],
  // Checkpoints.
  [
    'a checkpoint edited',
    (on) => on.edit('acme/.checkpoints/2026-11-17.json', /"sequence":\d+/, '"sequence":3'),
    'checkpoint.invalid',
    /2026-11-17/,
  ],
  ['a checkpoint removed', (on) => on.remove('acme/.checkpoints/2026-11-17.json'), 'checkpoint.missing', /2026-11-17/],
  ['a checkpoint truncated', (on) => on.cut('acme/.checkpoints/2026-11-18.json'), 'checkpoint.invalid', /2026-11-18/],
  [
    'two checkpoints swapped',
    (on) => on.swap('acme/.checkpoints/2026-11-16.json', 'acme/.checkpoints/2026-11-17.json'),
    'checkpoint.invalid',
    /2026-11-17/,
  ],
  [
    'an old checkpoint replayed',
    (on) => on.copy('acme/.checkpoints/2026-11-16.json', 'acme/.checkpoints/2026-11-18.json'),
    'checkpoint.invalid',
    /2026-11-18/,
  ],
  [
    'a checkpoint of another organization',
    (on) => on.copy('globex/.checkpoints/2026-11-17.json', 'acme/.checkpoints/2026-11-17.json'),
    'checkpoint.invalid',
    /2026-11-17/,
  ],
  [
    'a file added to the checkpoints',
    (on) => on.write('acme/.checkpoints/note.json', '{}'),
    'checkpoint.added',
    'acme/.checkpoints/note.json',
  ],
  // Keys.
  [
    'a public key replaced by that of a forger',
    async (on) => {
      const [name = ''] = await on.names('.keys');
      await on.write(`.keys/${name}`, generateSigningKey().publicPem);
    },
    'key.changed',
    /^\.keys/,
  ],
  ['a public key removed', (on) => on.remove(`.keys/${made.secondKey.id}.pem`), 'key.missing', /^\.keys/],
  [
    'a public key added',
    async (on) => {
      const { id, publicPem } = keyFrom(generateSigningKey().pem);
      await on.write(`.keys/${id}.pem`, publicPem);
    },
    'key.added',
    /^\.keys/,
  ],
  // Beside the runs.
  ['a file added beside the organizations', (on) => on.write('note.txt', 'x'), 'archive.file_added', 'note.txt'],
  [
    'a file added beside the runs',
    (on) => on.write('acme/weekly-kpi/note.txt', 'x'),
    'archive.file_added',
    'acme/weekly-kpi/note.txt',
  ],
];

async function verified(base: string, more: Partial<VerifyInput> = {}): Promise<ArchiveFinding[]> {
  const { keys, checkpoint, now } = made;
  const input = { keys, checkpoints: [checkpoint], checkpointOrgs: ['acme'], now, ...more };
  const findings: ArchiveFinding[] = [];
  for await (const { findings: found } of verifyArchive(directoryStorage(base), input)) findings.push(...found);
  return findings;
}

test('an unchanged archive has no findings', async () => {
  expect(await verified(made.base)).toEqual([]);
  expect(await verified(made.base, { keys: undefined })).toEqual([
    expect.objectContaining({ code: 'key.own', note: true }),
  ]);
});

test('the marker does not count as a foreign file', async () => {
  const base = join(root, 'marked');
  await cp(made.base, base, { recursive: true });
  await writeFile(join(base, 'docket-archive.json'), '{}');
  expect(await verified(base)).toEqual([]);
});

test('at least 60 kinds of tampering are covered', () => {
  expect(CASES.length).toBeGreaterThanOrEqual(60);
  expect(new Set(CASES.map(([what]) => what)).size).toBe(CASES.length);
});

test.each(CASES)('verification reports %s', async (what, damage, code, path) => {
  const base = join(root, what.replaceAll(/\W+/g, '-'));
  await cp(made.base, base, { recursive: true });
  await damage(handsOn(base));
  const faults = (await verified(base)).filter(({ note }) => note === undefined);
  const expected = { code, path: typeof path === 'string' ? path : expect.stringMatching(path) };
  expect(faults).toContainEqual(expect.objectContaining(expected));
});
