import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newestCheckpoints } from '../../../../src/deliver/archive/chain/chain.ts';
import { HAND_OVERS_FOLDER, signHandOver, signKeyBreak } from '../../../../src/deliver/archive/chain/hand-over.ts';
import {
  generateAfterLoss,
  generateSigningKey,
  parseHandOvers,
  parsePublicKeys,
} from '../../../../src/deliver/archive/chain/signing-key.ts';
import { directoryStorage } from '../../../../src/deliver/archive/storage/directory-storage.ts';
import { type VerifyInput, verifyArchive } from '../../../../src/deliver/archive/verify/verify-archive.ts';
import { folderFor } from '../../../support/delivery-case.ts';
import { keyFrom, sealRun, signedOver } from '../../../support/signed-archive.ts';

const NOW = Date.UTC(2026, 10, 20);
const clock = { now: () => NOW, sleep: async () => {} };
const idOf = (digit: string) => digit.repeat(32);

/** Two organizations signed with the first key. One of them is also signed with the second and third key. */
async function rotated() {
  const storage = directoryStorage(join(await folderFor(onTestFinished), 'archive'));
  const first = generateSigningKey();
  const second = generateSigningKey(keyFrom(first.pem));
  const third = generateSigningKey(keyFrom(second.pem));
  await sealRun(signedOver(storage, first.pem, clock), idOf('a'), NOW);
  await sealRun(signedOver(storage, first.pem, clock), idOf('b'), NOW, 'quiet');
  const checkpoints = await newestCheckpoints(storage);
  await sealRun(signedOver(storage, second.pem, clock), idOf('c'), NOW);
  await sealRun(signedOver(storage, third.pem, clock), idOf('d'), NOW);
  const [newest = ''] = third.publicPem.split(/(?<=-----END PUBLIC KEY-----\n)/);
  const verify = async (input: Partial<VerifyInput> = {}): Promise<readonly string[]> => {
    const codes: string[] = [];
    const keys = parsePublicKeys(newest, 'test');
    for await (const { findings } of verifyArchive(storage, { keys, checkpoints, now: NOW, ...input }))
      codes.push(...findings.filter(({ note }) => !note).map(({ code, path }) => `${code} ${path}`));
    return codes;
  };
  return { storage, first, second, third, verify };
}

test('the current public key and the hand-overs verify entries and checkpoints of earlier keys', async () => {
  const { storage, first, second, third, verify } = await rotated();
  const ids = [first, second, third].map(({ pem }) => keyFrom(pem).id);
  expect(await storage.metadata.list(HAND_OVERS_FOLDER)).toEqual(
    [`${ids[0]}-${ids[1]}.json`, `${ids[1]}-${ids[2]}.json`].sort(),
  );
  expect(await verify()).toEqual([]);
  // An older version reads the keys in the file, and ignores the hand-overs.
  expect([...parsePublicKeys(third.publicPem, 'test').keys()]).toEqual([...ids].reverse());
  expect([...keyFrom(third.pem).trusted.keys()]).toEqual([...ids].reverse());
});

test.each(['hand-overs in the archive', 'hand-overs in the file', 'no hand-over'])(
  'verification reports what an old key signed after its successor: %s',
  async (where) => {
    const { storage, first, third, verify } = await rotated();
    const thief = signedOver(storage, `${first.pem}${third.publicPem}`, clock);
    await sealRun(thief, idOf('e'), NOW);
    await sealRun(signedOver(storage, third.pem, clock), idOf('f'), NOW);
    if (where !== 'hand-overs in the archive') await storage.metadata.deleteAll(HAND_OVERS_FOLDER);
    const handOvers = where === 'hand-overs in the file' ? parseHandOvers(third.publicPem, 'test') : [];
    expect(await verify({ handOvers, checkpoints: [] })).toContain('chain.key_retired acme/.chain/000000005.json');
  },
);

test('verification reports a hand-over that one of its keys did not sign, and nothing trusts it', async () => {
  const { storage, first, third, verify } = await rotated();
  const [stranger, current] = [keyFrom(generateSigningKey().pem), keyFrom(third.pem)];
  const forged = signHandOver(stranger, { ...current, sign: keyFrom(first.pem).sign });
  const path = `${HAND_OVERS_FOLDER}/${stranger.id}-${current.id}.json`;
  await storage.metadata.put(path, forged);
  expect(await verify()).toEqual([`key.hand_over_changed ${path}`]);
});

/** An archive of two organizations whose second key of four was lost. The third key has signed nothing of `other`. */
async function lost() {
  const storage = directoryStorage(join(await folderFor(onTestFinished), 'archive'));
  const first = generateSigningKey();
  const second = generateSigningKey(keyFrom(first.pem));
  const third = generateAfterLoss(second.publicPem, 'test', 'disk failed');
  const fourth = generateSigningKey(keyFrom(third.pem));
  await sealRun(signedOver(storage, first.pem, clock), idOf('a'), NOW);
  await sealRun(signedOver(storage, second.pem, clock), idOf('b'), NOW);
  await sealRun(signedOver(storage, second.pem, clock), idOf('c'), NOW, 'other');
  await sealRun(signedOver(storage, third.pem, clock), idOf('d'), NOW);
  await sealRun(signedOver(storage, fourth.pem, clock), idOf('e'), NOW);
  await sealRun(signedOver(storage, fourth.pem, clock), idOf('f'), NOW, 'other');
  const blocks = fourth.publicPem.split(/(?<=-----END PUBLIC KEY-----\n)/);
  const verify = async (input: Partial<VerifyInput> = {}) => {
    const found = { faults: [] as string[], notes: [] as string[] };
    for await (const { findings } of verifyArchive(storage, { now: NOW, ...input }))
      for (const { code, path, note } of findings) found[note ? 'notes' : 'faults'].push(`${code} ${path}`);
    return { faults: found.faults, notes: found.notes.sort() };
  };
  const [secondId, thirdId] = [second, third].map(({ pem }) => keyFrom(pem).id);
  const file = `key.break ${HAND_OVERS_FOLDER}/${secondId}-${thirdId}.json`;
  const entries = ['key.break acme/.chain/000000004.json', 'key.break other/.chain/000000003.json'];
  return { storage, second, fourth, blocks, verify, file, entries };
}

test('a lost key is noted in each verification, and its public key keeps everything verified', async () => {
  const { storage, fourth, blocks, verify, file, entries } = await lost();
  const keys = parsePublicKeys(fourth.publicPem, 'test');
  const handOvers = parseHandOvers(fourth.publicPem, 'test');
  expect(await verify({ keys, handOvers })).toEqual({ faults: [], notes: [file, ...entries] });
  expect(await verify({ keys })).toEqual({ faults: [], notes: [file, ...entries] });
  expect(await verify()).toEqual({ faults: [], notes: [file, ...entries, 'key.own .keys'] });
  // The current key and the lost one are enough.
  const two = parsePublicKeys(`${blocks[0]}${blocks[2]}`, 'test');
  expect(await verify({ keys: two })).toEqual({ faults: [], notes: [file, ...entries] });
  await storage.metadata.deleteAll(HAND_OVERS_FOLDER);
  expect((await verify({ keys })).notes).toEqual(entries);
});

test('entries of a lost key are not trusted without its public key', async () => {
  const { blocks, verify, file, entries } = await lost();
  const faults = ['chain.key_unknown acme/.chain/000000003.json', 'chain.key_unknown other/.chain/000000002.json'];
  const { faults: found, notes } = await verify({ keys: parsePublicKeys(blocks[0] ?? '', 'test') });
  expect({ found: found.sort(), notes }).toEqual({ found: faults, notes: [file, ...entries] });
});

test('entries that a lost key signs after the break are invalid and reported', async () => {
  const { storage, second, fourth, verify } = await lost();
  const thief = signedOver(storage, `${second.pem}${fourth.publicPem}`, clock);
  await sealRun(thief, idOf('9'), NOW);
  const run = { id: idOf('9'), org: 'acme', report: 'weekly-kpi' };
  const current = signedOver(storage, fourth.pem, clock);
  expect(await current.signing.verifyManifest(run)).toBe(false);
  expect(await current.signing.verifyManifest({ ...run, id: idOf('b') })).toBe(true);
  await sealRun(current, idOf('8'), NOW);
  const { faults } = await verify({ keys: parsePublicKeys(fourth.publicPem, 'test') });
  expect(faults).toContain('chain.key_retired acme/.chain/000000007.json');
  expect(faults.filter((each) => !each.startsWith('chain.key_retired '))).toEqual([]);
});

test('a stolen old key cannot declare the current one lost', async () => {
  const { storage, first, third, verify } = await rotated();
  const [old, current, stranger] = [keyFrom(first.pem), keyFrom(third.pem), keyFrom(generateSigningKey().pem)];
  await storage.metadata.put(
    `${HAND_OVERS_FOLDER}/${current.id}-${old.id}.json`,
    signKeyBreak(current, old, 'it is lost'),
  );
  const paths = [old, stranger].map(({ id }) => `${HAND_OVERS_FOLDER}/${current.id}-${id}.json`);
  expect(await verify()).toEqual([`key.hand_over_changed ${paths[0]}`]);
  await storage.metadata.put(paths[1] ?? '', signKeyBreak(current, stranger, 'it is lost'));
  expect([...(await verify())].sort()).toEqual(paths.map((path) => `key.hand_over_changed ${path}`).sort());
});
