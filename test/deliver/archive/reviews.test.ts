import { describe, expect, onTestFinished, test } from 'vitest';
import { createReviewArchive } from '../../../src/deliver/archive/reviews/create-review-archive.ts';
import { loadReview } from '../../../src/run/review/load-review.ts';
import { type ReviewEvent, reviewEventSchema } from '../../../src/run/review/review-event.ts';
import { ARCHIVES } from '../../support/archives.ts';

const RUN = { id: '5'.repeat(32), org: 'acme', report: 'kpis' };
const FIGURES = 'a'.repeat(64);
const DOCKET = { person: 'docket', name: 'Docket', principal: 'docket' };

const figures = (seq: number): ReviewEvent => ({ seq, at: 5, by: DOCKET, type: 'figures', figures: FIGURES });
const comment = (seq: number, text: string): ReviewEvent => ({
  seq,
  at: 6,
  by: { ...DOCKET, person: 'ann' },
  type: 'comment',
  section: null,
  text,
});

describe.each(ARCHIVES)('reviews %s', (_, open) => {
  const opened = async () => {
    const place = await open(onTestFinished);
    const { storage } = await place.another();
    return {
      ...place,
      reviews: createReviewArchive(place.storage, reviewEventSchema),
      others: createReviewArchive(storage, reviewEventSchema),
    };
  };

  test('get each event from one of several simultaneous processes, and the others can read it', async () => {
    const { reviews, others } = await opened();
    expect(await reviews.events(RUN)).toEqual([]);
    expect(await reviews.append(RUN, 1, figures(1))).toBe(true);
    const appended = await Promise.all([
      reviews.append(RUN, 2, comment(2, 'a')),
      others.append(RUN, 2, comment(2, 'a')),
      others.append(RUN, 2, comment(2, 'b')),
    ]);
    expect(appended.filter(Boolean)).toHaveLength(1);
    const events = await others.events(RUN);
    expect(events).toEqual([figures(1), comment(2, appended.indexOf(true) === 2 ? 'b' : 'a')]);
    await expect(reviews.append(RUN, 3, figures(4))).rejects.toMatchObject({ code: 'internal.defect' });
  });

  test('fail if an event is missing, because its content is unknown', async () => {
    const { reviews } = await opened();
    await reviews.append(RUN, 2, figures(2));
    await expect(reviews.events(RUN)).rejects.toMatchObject({ code: 'archive.corrupt' });
  });

  test('have files by name, and none outside of the review', async () => {
    const { reviews, others } = await opened();
    await reviews.put(RUN, `content/${FIGURES}/KPIs October.pdf`, new Uint8Array([1, 2]));
    await reviews.put(RUN, `figures/${FIGURES}/review.json`, '{}');
    expect(await others.get(RUN, `content/${FIGURES}/KPIs October.pdf`)).toEqual(Buffer.from([1, 2]));
    expect(await others.get(RUN, `content/${FIGURES}/absent`)).toBeUndefined();
    expect(await others.list(RUN, `content/${FIGURES}`)).toEqual(['KPIs October.pdf']);
    for (const name of ['../x', 'a/../x', 'a//x', '/x', 'figures/.x', 'a\\..\\x/', 'a/b\0'])
      await expect(reviews.put(RUN, name, ''), name).rejects.toMatchObject({ code: 'archive.unwritable' });
    await reviews.append(RUN, 1, figures(1));
    await expect(loadReview(reviews, RUN)).rejects.toMatchObject({ code: 'archive.corrupt' });
  });

  test('are listed while they are open, and never as runs of the archive', async () => {
    const { reviews, others, storage } = await opened();
    const openIds = async () => {
      const found = [];
      for await (const { run, order } of others.listOpen()) found.push([run, order]);
      return found;
    };
    expect(await openIds()).toEqual([]);
    await reviews.open(RUN, '{"id":1}');
    await reviews.open({ ...RUN, id: '6'.repeat(32) }, '{"id":2}');
    await reviews.open(RUN, '{"id":1}');
    expect(await openIds()).toEqual([
      [RUN, '{"id":1}'],
      [{ ...RUN, id: '6'.repeat(32) }, '{"id":2}'],
    ]);
    await reviews.close(RUN);
    await reviews.close(RUN);
    expect((await openIds()).map(([, order]) => order)).toEqual(['{"id":2}']);
    expect(await storage.listOrgs()).toEqual([]);
    expect(await storage.listForeignFiles()).toEqual([]);
  });
});
