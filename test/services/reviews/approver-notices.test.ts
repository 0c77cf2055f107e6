import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { silentLog } from '../../../src/base/log.ts';
import { approvalSchema, peopleSchema } from '../../../src/definitions/schema/review.ts';
import { createReviewArchive } from '../../../src/deliver/archive/reviews/create-review-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { reviewState } from '../../../src/run/review/fold-review.ts';
import type { NewReviewEvent, ReviewEvent } from '../../../src/run/review/review-event.ts';
import { reviewEventSchema } from '../../../src/run/review/review-event.ts';
import type { Deployment } from '../../../src/services/deployment/deployment.ts';
import { createReviewNotices, type NoticeReview } from '../../../src/services/reviews/approver-notices.ts';
import { reviewDeadline } from '../../../src/services/reviews/review-deadlines.ts';
import { NOBODY_IS_DENIED } from '../../support/decision-harness.ts';
import { fake } from '../../support/fake.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';
import { anOrder, reportDefinition } from '../../support/queue-harness.ts';

const FRIDAY = Date.parse('2026-11-20T15:00:00+01:00');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const FIGURES = ['a'.repeat(64), 'b'.repeat(64)] as const;

const actor = (person: string) => ({ person, name: person, principal: `token:${person}` });
const PEOPLE = peopleSchema.parse({
  mlro: { name: 'Ann', email: 'ann@acme.example', tokens: ['mlro'] },
  head: { email: 'head@acme.example', tokens: ['head'] },
  ops: { email: 'ops2@acme.example', tokens: ['ops'] },
});
const { definition, settings } = reportDefinition();

/** A review that records who has received which notice. Its archive stays, and its ledger can be lost. */
async function reviewOf(
  approval: object,
  sections: readonly { id: string; required: boolean }[] = [],
  locale?: string,
) {
  const root = await mkdtemp(join(tmpdir(), 'docket-notices-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const reviews = createReviewArchive(directoryStorage(root), reviewEventSchema);
  const order = anOrder({ by: 'ops' });
  const spec = approvalSchema.parse({ by: ['mlro', 'head', 'ops'], ...approval });
  const events: ReviewEvent[] = [];
  const mails: { readonly to: string; readonly subject: string; readonly text: string; readonly html: string }[] = [];
  let ledger = memoryLedger();
  let now = FRIDAY;
  let down = false;
  const review = (): NoticeReview => {
    const inputs = {
      version: 1,
      sections,
      incomplete: false,
      nothing_to_send: false,
      approval: spec,
      people: PEOPLE,
      triggered_by: 'ops',
    } as const;
    const state = reviewState(events, events.length === 0 ? undefined : inputs);
    const own = { ...settings, people: PEOPLE };
    const deadline = reviewDeadline(state, spec, own, now);
    return {
      order,
      definition: { ...definition, approval: spec, locale },
      settings: own,
      events,
      inputs,
      state,
      deadline,
      now,
    };
  };
  const stores = {
    reviews,
    config: readConfig({ DOCKET_PUBLIC_URL: 'https://docket.acme.example' }),
    orgs: () => new Map(),
    clock: { ...systemClock, now: () => now },
    log: silentLog,
  };
  const send = () =>
    createReviewNotices(fake<Deployment>({ ...stores, ledger, denials: NOBODY_IS_DENIED }), {
      mailOf: async () => ({
        from: 'docket@acme.example',
        mailer: {
          send: async ({ to }, raw) => {
            if (down) return { kind: 'deferred', response: 'down', server: true };
            const { subject = '', text = '', html = '' } = await PostalMime.parse(raw);
            mails.push({ to, subject, text, html });
            return { kind: 'accepted', response: '250' };
          },
          close: async () => {},
        },
      }),
      observe: () => {},
    }).send(review());
  return {
    order,
    review,
    content: () => review().state.content ?? '',
    append: (...added: readonly NewReviewEvent[]) => {
      for (const event of added) events.push({ ...event, seq: events.length + 1 } as ReviewEvent);
    },
    loseLedger: () => {
      ledger = memoryLedger();
    },
    setDown: (is: boolean) => {
      down = is;
    },
    at: (time: number) => {
      now = time;
    },
    /** Who gets which notice from one more sweep. */
    told: async () => {
      mails.length = 0;
      const settled = await send();
      return { settled, to: mails.map(({ to, subject }) => `${to} ${subject.split(':')[0]}`), mails: [...mails] };
    },
  };
}

const figures = (which: 0 | 1, at = FRIDAY): NewReviewEvent => ({
  type: 'figures',
  at,
  by: actor('docket'),
  figures: FIGURES[which],
});

test('each approver who may approve is asked once per content, even after the ledger was lost', async () => {
  const review = await reviewOf({ need: 2 });
  review.append(figures(0));
  const first = await review.told();
  // ops triggered the run.
  expect(first.to).toEqual(['ann@acme.example Approval needed', 'head@acme.example Approval needed']);
  expect(await review.told()).toMatchObject({ settled: true, to: [] });
  review.loseLedger();
  expect(await review.told()).toMatchObject({ settled: true, to: [] });

  // An approver is not asked again, and an author of a comment may no longer approve.
  review.append({ type: 'comment', at: FRIDAY, by: actor('head'), section: null, text: 'Fewer.' });
  review.append({ type: 'comment', at: FRIDAY, by: actor('ops'), section: null, text: 'Fewer still.' });
  expect((await review.told()).to).toEqual(['ann@acme.example Approval needed']);
  review.append({ type: 'approve', at: FRIDAY, by: actor('mlro'), content: review.content(), reason: 'ok' });
  expect((await review.told()).to).toEqual([]);
  // The first content again, but no earlier approval of it counts.
  review.append({ type: 'comment', at: FRIDAY, by: actor('ops'), section: null, text: null });
  expect((await review.told()).to).toEqual(first.to);
});

test('a notice links only to the page, and cannot decide anything by itself', async () => {
  const review = await reviewOf({ within: '2bd' });
  review.append(figures(0));
  const [mail] = (await review.told()).mails;
  const page = `https://docket.acme.example/runs/${review.order.id}`;
  expect([...(mail?.html ?? '').matchAll(/(?:href|action|src)="([^"]*)"/g)].map(([, url]) => url)).toEqual([page]);
  expect(mail?.html).not.toMatch(/<form|<button|<input/);
  expect(mail?.text).toContain(page);
  expect(mail?.text).toContain('the end of Tuesday 24 November 2026 (Europe/Zurich)');
  expect(`${mail?.html}${mail?.text}`).not.toMatch(/runs (approve|reject)|token=|[0-9a-f]{40}/);
});

test('after the deadline approvers are reminded on each of five business days', async () => {
  const review = await reviewOf({ by: ['mlro'], within: '1bd' });
  review.append(figures(0));
  await review.told();
  const reminded: string[] = [];
  for (let day = 0; day < 14; day += 1) {
    review.at(FRIDAY + day * DAY_MS + 10 * HOUR_MS);
    for (const each of (await review.told()).to) {
      expect(each).toBe('ann@acme.example Reminder, approval needed');
      reminded.push(new Date(FRIDAY + day * DAY_MS).toISOString().slice(0, 10));
    }
  }
  // Monday is over at midnight. The test looks at 01:00 each day.
  expect(reminded).toEqual(['2026-11-23', '2026-11-24', '2026-11-25', '2026-11-26', '2026-11-27']);
});

test('without a deadline approvers are reminded each week, five times, while the review waits', async () => {
  const review = await reviewOf({ by: ['mlro'] });
  review.append(figures(0));
  expect((await review.told()).to).toEqual(['ann@acme.example Approval needed']);
  const reminded: number[] = [];
  for (let day = 1; day < 60; day += 1) {
    review.at(FRIDAY + day * DAY_MS + 10 * HOUR_MS);
    for (const { to, subject, text } of (await review.told()).mails) {
      expect(`${to} ${subject}`).toMatch(/^ann@acme\.example Reminder, approval needed/);
      expect(text).not.toContain('2026 (Europe/Zurich)');
      reminded.push(day);
    }
  }
  expect(reminded).toEqual([7, 14, 21, 28, 35]);
});

test('an approver gets the last reminder, however late it can be sent', async () => {
  const review = await reviewOf({ by: ['mlro'], within: '1bd' });
  review.append(figures(0));
  review.at(FRIDAY + 30 * DAY_MS);
  expect((await review.told()).to).toEqual(['ann@acme.example Reminder, approval needed']);
});

test('missing comments are reported to the owner, and valid rejections also to the person who triggered the run', async () => {
  const review = await reviewOf({ by: ['mlro', 'head'] }, [{ id: 'onboarding', required: true }]);
  review.append(figures(0));
  const [missing] = (await review.told()).mails;
  expect(missing).toMatchObject({ to: 'ops@acme.example', subject: expect.stringContaining('Comments needed') });
  expect(missing?.text).toContain('- onboarding');
  review.append({ type: 'comment', at: FRIDAY, by: actor('ops'), section: 'onboarding', text: 'Fewer.' });
  const reject = { type: 'reject', at: FRIDAY, by: actor('mlro'), reason: 'Wrong\r\nRun:  7' } as const;
  review.append({ ...reject, content: 'c'.repeat(64), refetch: true });
  expect((await review.told()).to).toEqual(['ann@acme.example Approval needed', 'head@acme.example Approval needed']);
  review.append({ ...reject, content: review.content(), refetch: true }, figures(1));
  const rejected = await review.told();
  expect(rejected.to).toEqual([
    'ops@acme.example Rejected',
    'ops2@acme.example Rejected',
    'ann@acme.example Approval needed',
    'head@acme.example Approval needed',
  ]);
  expect(rejected.mails[0]?.text.split(/\r?\n/).filter((line) => line.startsWith('Run:'))).toHaveLength(1);
  review.append({ ...reject, content: review.content(), refetch: false });
  expect((await review.told()).to).toEqual(['ops@acme.example Rejected', 'ops2@acme.example Rejected']);
});

test('a notice that the mail server did not accept is sent by a later sweep', async () => {
  const review = await reviewOf({ by: ['mlro'] });
  review.append(figures(0));
  review.setDown(true);
  expect(await review.told()).toMatchObject({ settled: false, to: [] });
  review.loseLedger();
  review.setDown(false);
  expect(await review.told()).toMatchObject({ settled: true, to: ['ann@acme.example Approval needed'] });
});

test('the notices of a German report are German, even that of a cancellation by Docket', async () => {
  const review = await reviewOf({ within: '2bd', otherwise: 'cancel' }, [], 'de-CH');
  review.append(figures(0));
  const [asked] = (await review.told()).mails;
  expect(asked?.subject).toMatch(/^Freigabe nötig: /);
  expect(asked?.html).toContain('>Den Lauf in Docket öffnen</a>');
  const reason = 'Not approved within 2 business days.';
  review.append({ type: 'cancel', at: FRIDAY, by: { person: 'docket', name: 'Docket', principal: 'docket' }, reason });
  const [cancelled] = (await review.told()).mails;
  expect(cancelled?.subject).toMatch(/^Abgebrochen: /);
  expect(cancelled?.text).toContain('Nicht innerhalb von 2 Arbeitstagen freigegeben.');
  expect(cancelled?.text).not.toContain(reason);
});
