import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { silentLog } from '../../../../src/base/log.ts';
import { runChain, toChainFile } from '../../../../src/deliver/archive/chain/run-chain.ts';
import { generateSigningKey, parsePublicKeys } from '../../../../src/deliver/archive/chain/signing-key.ts';
import { correctionArchive } from '../../../../src/deliver/archive/corrections/correction-archive.ts';
import type { CorrectionEvent } from '../../../../src/deliver/archive/corrections/correction-event.ts';
import { deleteExpiredReviews } from '../../../../src/deliver/archive/retention.ts';
import { createReviewArchive, reviewFolder } from '../../../../src/deliver/archive/reviews/create-review-archive.ts';
import type { ArchiveStorage } from '../../../../src/deliver/archive/storage/archive-storage.ts';
import { verifyArchive } from '../../../../src/deliver/archive/verify/verify-archive.ts';
import type { ProcessRegistry } from '../../../../src/queue/process-registry.ts';
import { type ReviewEvent, reviewEventSchema } from '../../../../src/run/review/review-event.ts';
import type { Deployment } from '../../../../src/services/deployment/deployment.ts';
import { createEventCutOver } from '../../../../src/services/reviews/sign-events.ts';
import { ARCHIVES } from '../../../support/archives.ts';
import { fake } from '../../../support/fake.ts';
import { settingsOf } from '../../../support/reports.ts';
import { keyFrom } from '../../../support/signed-archive.ts';

const RUN = { id: '5'.repeat(32), org: 'acme', report: 'kpis' };
const CONTENT = 'c'.repeat(64);
const NOW = Date.UTC(2026, 10, 20);
const clock = { now: () => NOW, sleep: async () => {} };
const { pem, publicPem } = generateSigningKey();

const by = (person: string) => ({ person, name: person, principal: `token:${person}` });
const event = (seq: number, type: 'comment' | 'approve' | 'reject' | 'seal', person = 'mia'): ReviewEvent =>
  reviewEventSchema.parse({
    ...{ seq, at: NOW, by: by(person), type, content: CONTENT, reason: '', refetch: false, section: null, text: 'x' },
    text: 'x',
  });
const found = (seq: number, type: 'withdrawn' | 'ended'): CorrectionEvent => ({ seq, at: NOW, type, correction: 1 });

/** Opens the archive as another process. */
function open(storage: ArchiveStorage, key: string | undefined = pem) {
  const signing = key === '' ? undefined : runChain(storage, async () => keyFrom(key), clock).events;
  const reviews = createReviewArchive(storage, reviewEventSchema, signing);
  return { storage, signing, reviews, corrections: correctionArchive(storage, signing) };
}
type Opened = ReturnType<typeof open>;

const cutOver = async ({ storage, signing, reviews }: Opened, hasOlder = false): Promise<void> => {
  if (signing === undefined) throw new Error('no key');
  const processes = fake<ProcessRegistry>({ hasOlder: async () => hasOlder });
  const orgs = () => new Map([[RUN.org, settingsOf()]]);
  const deployment = fake<Deployment>({ storage, reviews, orgs, clock: { ...systemClock, ...clock }, log: silentLog });
  await createEventCutOver(deployment, fake({ events: signing }), processes)();
};
const typesOf = async ({ reviews }: Opened) =>
  (await reviews.events(RUN)).map(({ type, by: { person } }) => `${type} ${person}`);

async function verified({ storage }: Pick<Opened, 'storage'>, publicKeys = publicPem): Promise<readonly string[]> {
  const codes: string[] = [];
  const keys = parsePublicKeys(publicKeys, 'test');
  for await (const { findings } of verifyArchive(storage, { keys, now: NOW }))
    codes.push(...findings.filter(({ note }) => !note).map(({ code, path }) => `${code} ${path.split('/').at(-1)}`));
  return codes;
}

const pathOf = (seq: number) => `${reviewFolder(RUN)}/events/${String(seq).padStart(6, '0')}.json`;
/** Writes as somebody who can write to the archive and has no key. */
const forge = ({ storage }: Opened, seq: number, forged: ReviewEvent) =>
  storage.metadata.put(pathOf(seq), `${JSON.stringify({ ...forged, seq, id: 'forged' })}\n`);
const erase = async ({ storage }: Opened, seq: number) => {
  const folder = `${reviewFolder(RUN)}/events`;
  const others = (await storage.metadata.list(folder)).filter((name) => !pathOf(seq).endsWith(name));
  const bytes = await Promise.all(others.map((name) => storage.metadata.get(`${folder}/${name}`)));
  await storage.metadata.deleteAll(folder);
  for (const [index, name] of others.entries()) await storage.metadata.put(`${folder}/${name}`, bytes[index] ?? '');
};

describe.each(ARCHIVES)('signed events %s', (_, create) => {
  const fresh = async () => {
    const place = await create(onTestFinished);
    return { one: open(place.storage), other: open((await place.another()).storage) };
  };

  test('without an entry are ignored and reported, and the review continues', async () => {
    const { one, other } = await fresh();
    await cutOver(one);
    expect(await one.reviews.append(RUN, 1, event(1, 'comment'))).toBe(true);
    await forge(one, 3, event(3, 'approve', 'eve'));
    await forge(one, 4, event(4, 'seal', 'docket'));
    expect(await typesOf(one)).toEqual(['comment mia']);
    expect(await typesOf(other)).toEqual(['comment mia']);
    expect(await verified(one)).toEqual(['review.event_unsigned 000003.json', 'review.event_unsigned 000004.json']);
    const [last] = await other.reviews.events(RUN);
    expect(await other.reviews.append(RUN, (last?.seq ?? 0) + 1, event((last?.seq ?? 0) + 1, 'approve'))).toBe(true);
    expect(await typesOf(one)).toEqual(['comment mia', 'approve mia']);
  });

  test.each([
    ['a reject', 3],
    ['a comment before others', 2],
  ])('make the review fail and are reported if %s was deleted or changed', async (_name, seq) => {
    const { one, other } = await fresh();
    await cutOver(one);
    await one.reviews.append(RUN, 1, event(1, 'comment'));
    await one.reviews.append(RUN, 3, event(3, 'reject'));
    expect(await typesOf(other)).toEqual(['comment mia', 'reject mia']);
    expect(await verified(one)).toEqual([]);
    const name = pathOf(seq).split('/').at(-1);
    await erase(one, seq);
    await expect(other.reviews.events(RUN)).rejects.toMatchObject({ code: 'archive.corrupt' });
    expect(await verified(one)).toEqual([`review.event_missing ${name}`]);
    await forge(one, seq, event(seq, 'approve', 'eve'));
    await expect(other.reviews.events(RUN)).rejects.toMatchObject({ code: 'archive.corrupt' });
    expect(await verified(one)).toEqual([`review.event_changed ${name}`]);
    await one.storage.metadata.deleteAll(reviewFolder(RUN));
    expect([...(await verified(one))].sort()).toEqual([1, 2, 3].map((n) => `review.event_missing 00000${n}.json`));
  });

  test('of a key whose successor has signed are ignored and reported', async () => {
    const next = generateSigningKey(keyFrom(pem));
    const { one, other } = await fresh();
    await cutOver(one);
    await one.reviews.append(RUN, 1, event(1, 'comment', 'ann'));
    const [current, late] = [open(other.storage, next.pem), open(one.storage, `${pem}${next.publicPem}`)];
    expect(await typesOf(current)).toEqual(['comment ann']);
    const steal = async (seq: number, after: number) => {
      await forge(one, seq, event(seq, 'approve', 'eve'));
      const bytes = (await one.storage.metadata.get(pathOf(seq))) ?? '';
      await late.signing?.record(RUN.org, toChainFile(pathOf(seq), bytes), after);
    };
    // Until then the old key may sign, because its process has not been restarted.
    await steal(3, 2);
    expect(await typesOf(current)).toEqual(['comment ann', 'approve eve']);
    expect(await current.reviews.append(RUN, 4, event(4, 'comment', 'ben'))).toBe(true);
    await steal(5, 4);
    const counted = ['comment ann', 'approve eve', 'comment ben'];
    expect(await typesOf(current)).toEqual(counted);
    expect(await typesOf(open(other.storage, next.pem))).toEqual(counted);
    expect(await verified(one, next.publicPem)).toEqual([
      'chain.key_retired 000000007.json',
      'review.event_unsigned 000005.json',
    ]);
    expect(await current.reviews.append(RUN, 5, event(5, 'approve', 'cem'))).toBe(true);
    expect(await typesOf(open(other.storage, next.pem))).toEqual([...counted, 'approve cem']);
  });

  test('are appended by one of several simultaneous processes', async () => {
    const { one, other } = await fresh();
    await cutOver(one);
    for (let round = 0; round < 3; round += 1) {
      const before = await one.reviews.events(RUN);
      const seq = (before.at(-1)?.seq ?? 0) + 1;
      const people = ['ann', 'ben', 'cem'];
      const appended = await Promise.all(
        people.map((person, index) =>
          [one, other, one][index]?.reviews.append(RUN, seq, event(seq, 'approve', person)),
        ),
      );
      expect(appended.filter(Boolean)).toHaveLength(1);
      const winner = people[appended.indexOf(true)];
      expect(await typesOf(other)).toEqual([...before.map((each) => `approve ${each.by.person}`), `approve ${winner}`]);
    }
  });

  test('keep those from before the cut-over, which waits while an older version runs', async () => {
    const { one, other } = await fresh();
    await other.reviews.open(RUN, '{}');
    await other.reviews.append(RUN, 1, event(1, 'comment', 'ann'));
    await cutOver(one, true);
    expect(await other.reviews.append(RUN, 2, event(2, 'approve', 'ben'))).toBe(true);
    await cutOver(one);
    await cutOver(other);
    expect(await typesOf(other)).toEqual(['comment ann', 'approve ben']);
    expect(await other.reviews.append(RUN, 3, event(3, 'approve', 'cem'))).toBe(true);
    await forge(one, 9, event(9, 'approve', 'eve'));
    expect(await typesOf(one)).toEqual(['comment ann', 'approve ben', 'approve cem']);
    expect(await verified(one)).toEqual(['review.event_unsigned 000009.json']);
    // An older version cannot know which events count, so it must not be able to read this one.
    const mark = JSON.parse(String(await one.storage.metadata.get(pathOf(3))));
    expect(mark).toMatchObject({ seq: 3, at: NOW, type: 'signed' });
    expect(reviewEventSchema.safeParse(mark).success).toBe(false);
  });

  test('can be read but not written by a process without the key', async () => {
    const { one, other } = await fresh();
    const keyless = open(other.storage, '');
    expect(await keyless.reviews.append(RUN, 1, event(1, 'comment'))).toBe(true);
    await cutOver(one);
    await one.reviews.append(RUN, 2, event(2, 'comment', 'ben'));
    expect(await typesOf(keyless)).toEqual(['comment mia', 'comment ben']);
    const refused = { code: 'archive.key_unknown', next: expect.stringContaining('DOCKET_SIGNING_KEY') };
    await expect(keyless.reviews.append(RUN, 4, event(4, 'approve'))).rejects.toMatchObject(refused);
    await expect(keyless.reviews.assertUsable(RUN)).rejects.toMatchObject(refused);
    await expect(keyless.corrections.append(RUN, found(1, 'withdrawn'))).rejects.toMatchObject(refused);
  });

  test('are not missing if retention deleted them', async () => {
    const { one } = await fresh();
    await cutOver(one);
    await one.reviews.append(RUN, 1, event(1, 'reject'));
    const fail = (_folder: string, error: unknown) => expect.fail(String(error));
    expect(await deleteExpiredReviews(one.storage, () => NOW + 1, fail, one.signing)).toBe(1);
    expect(await verified(one)).toEqual([]);
    expect(await one.reviews.events(RUN)).toEqual([]);
  });

  test('of corrections are ignored if forged, and reported if changed', async () => {
    const { one, other } = await fresh();
    const path = (seq: number) => `.corrections/acme/kpis/${RUN.id}/events/00000${seq}.json`;
    await one.corrections.append(RUN, found(1, 'withdrawn'));
    await cutOver(one);
    await one.corrections.append(RUN, found(2, 'ended'));
    const forged = { ...found(3, 'ended'), type: 'sent', run: 'f'.repeat(32), by: 'eve', reason: '' };
    await one.storage.metadata.put(path(3), `${JSON.stringify(forged)}\n`);
    expect((await other.corrections.events(RUN)).map(({ type }) => type)).toEqual(['withdrawn', 'ended']);
    expect(await verified(one)).toEqual(['correction.event_unsigned 000003.json']);
    expect(await other.corrections.append(RUN, found(3, 'withdrawn'))).toBe(true);
    expect((await one.corrections.events(RUN)).map(({ seq }) => seq)).toEqual([1, 2, 4]);
    await one.storage.metadata.put(path(2), `${JSON.stringify(forged)}\n`);
    await expect(other.corrections.events(RUN)).rejects.toMatchObject({ code: 'archive.corrupt' });
    expect(await verified(one)).toContain('correction.event_changed 000002.json');
  });
});
