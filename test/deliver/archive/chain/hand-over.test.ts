import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newestCheckpoints } from '../../../../src/deliver/archive/chain/chain.ts';
import { HAND_OVERS_FOLDER, signHandOver } from '../../../../src/deliver/archive/chain/hand-over.ts';
import {
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

/** Two organizations signed with the first key, one of them with the second and third key as well. */
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

test('the current public key and the hand-overs verify an archive of three keys, and checkpoints of the first', async () => {
  const { storage, first, second, third, verify } = await rotated();
  const ids = [first, second, third].map(({ pem }) => keyFrom(pem).id);
  expect(await storage.metadata.list(HAND_OVERS_FOLDER)).toEqual(
    [`${ids[0]}-${ids[1]}.json`, `${ids[1]}-${ids[2]}.json`].sort(),
  );
  expect(await verify()).toEqual([]);
  // An older version reads the files of the keys, and ignores the hand-overs.
  expect([...parsePublicKeys(third.publicPem, 'test').keys()]).toEqual([...ids].reverse());
  expect([...keyFrom(third.pem).trusted.keys()]).toEqual([...ids].reverse());
});

test.each(['hand-overs in the archive', 'hand-overs in the file', 'no hand-over'])(
  'names what an old key signs later: %s',
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

test('a hand-over that one of the keys has not signed is named and trusted by nobody', async () => {
  const { storage, first, third, verify } = await rotated();
  const [stranger, current] = [keyFrom(generateSigningKey().pem), keyFrom(third.pem)];
  const forged = signHandOver(stranger, { ...current, sign: keyFrom(first.pem).sign });
  const path = `${HAND_OVERS_FOLDER}/${stranger.id}-${current.id}.json`;
  await storage.metadata.put(path, forged);
  expect(await verify()).toEqual([`key.hand_over_changed ${path}`]);
});
