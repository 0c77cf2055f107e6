import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import { correctionsHarness, mortal } from '../../support/corrections-harness.ts';
import { cases, within } from '../../support/fuzz.ts';
import { definitionOf } from '../../support/reports.ts';

const NAMES = ['a', 'b', 'c', 'd'].map((name) => `${name}@acme.example`);
const NEW = 'new@acme.example';
const REASON = { reason: 'wrong pack' };
const BY = { by: 'anna' };

const life = fc.oneof(fc.constant(10_000), fc.integer({ min: 1, max: 40 }));
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('deliver' as const), life }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('open' as const), redefined: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('open while it delivers' as const), life }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('correct' as const), life }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resend' as const), which: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refuse' as const), which: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const) }) },
);

test(
  'nobody gets a correction mark without an earlier edition, or an edition twice, in any order of deliveries, crashes and corrections',
  async () => {
    const harness = await correctionsHarness();
    const { service, ledger, archive, clock, mail, settings } = harness;
    let number = 0;
    const seen = { marked: 0, unmarked: 0, corrected: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
        number += 1;
        const made = (to: readonly string[]) => ({
          ...definitionOf([{ id: 'rate', metrics: ['profiles.created'], totals: true }], {
            report: `r${number}`,
            title: 'Pack',
            period: 'previous_month',
            deliveries: [{ email: { to: [...to], attach: [] } }],
          }),
        });
        const definition = { ...made(NAMES), digest: `${number}`.padStart(64, '0') };
        const changed = { ...made([NEW, ...NAMES.slice(1)]), digest: `${number}`.padStart(64, 'f') };
        const before = mail.messages().length;
        const first = await harness.orderOf(definition);
        const ref = { id: first.id, org: first.org, report: first.report };
        let correction: RunOrder | undefined;
        const rowOf = (run: string, to = '') => ledger.find(deliveryId(run, '0-email', to));
        const dead = (left: number) => {
          const lives = { left };
          return { ledger: mortal(ledger, lives), archive: mortal(archive, lives) };
        };
        const deliver = (left: number) => harness.execute(first, definition, dead(left));
        const open = async (redefined: boolean) => {
          const request = redefined ? { ...REASON, definition: { definition: changed, settings } } : REASON;
          const opened = await service.open(ref, request, BY).catch(() => undefined);
          correction ??= opened?.record;
        };
        const correct = async (left: number) => {
          if (correction === undefined) return;
          const { definition: own } = harness.frozen.get(correction.digest) ?? { definition };
          await harness.execute(correction, own, dead(left));
        };
        /** Number of decisions to resend an edition, by run and recipient. */
        const again = new Map<string, number>();
        for (const requested of [...steps, { do: 'open' as const, redefined: false }]) {
          if (requested.do === 'deliver') await deliver(requested.life);
          else if (requested.do === 'open') await open(requested.redefined);
          else if (requested.do === 'open while it delivers') await Promise.all([deliver(requested.life), open(false)]);
          else if (requested.do === 'correct') await correct(requested.life);
          else if (requested.do === 'lose') harness.loseLedger();
          else {
            const [run, to] = [requested.do === 'resend' ? (correction ?? first) : first, NAMES[requested.which] ?? ''];
            const row = await rowOf(run.id, to);
            if (row === undefined) continue;
            const decision = { to: 'pending', by: 'ops', reason: 'not in her mailbox', at: clock.now() } as const;
            // A server does not refuse a message that it has accepted.
            const arrived = mail.messages().some(({ to: [other] }, index) => index >= before && other === to);
            if (requested.do === 'refuse' && arrived) continue;
            if (requested.do === 'refuse') await ledger.settle(row.id, row.epoch, 'refused', '550', clock.now());
            else if ((await ledger.resolve(row.id, row.epoch, decision)) !== undefined)
              again.set(`${run.id} ${to}`, (again.get(`${run.id} ${to}`) ?? 0) + 1);
          }
        }
        // In the end a process finishes everything. An edition that nobody received cannot be corrected.
        await deliver(10_000);
        await open(false);
        for (let attempt = 0; attempt < 3; attempt += 1) {
          clock.advance(11 * 60_000);
          await correct(10_000);
        }

        const messages = await Promise.all(
          mail
            .messages()
            .slice(before)
            .map(async ({ to, path }) => ({
              to: to[0] ?? '',
              text: (await readFile(path, 'utf8')).replace(/=\r?\n/g, ''),
            })),
        );
        const runs = [first, ...(correction === undefined ? [] : [correction])];
        for (const { to } of messages) expect(NAMES).toContain(to);
        if (correction === undefined) return;
        seen.corrected += 1;
        for (const to of NAMES) {
          const own = messages.filter((message) => message.to === to);
          const marked = own.filter(({ text }) => /^Subject: Corrected/m.test(text));
          const [old, now] = await Promise.all(runs.map(({ id }) => rowOf(id, to)));
          const sentAgain = runs.map(({ id }) => again.get(`${id} ${to}`) ?? 0);
          expect(old?.state).not.toMatch(/pending|refused|sending/);
          if (marked.length > 0) expect(['sent', 'unknown']).toContain(old?.state);
          const corrected = marked.length > 0 ? marked.length : own.length;
          if (old?.state === 'withdrawn') {
            expect(marked).toEqual([]);
            expect(own.length, `${now?.state}`).toBeLessThanOrEqual(1 + (sentAgain[1] ?? 0));
            if (now?.state === 'sent') expect(own.length).toBeGreaterThanOrEqual(1);
            seen.unmarked += own.length;
          } else {
            expect(marked.length).toBeLessThanOrEqual(1 + (sentAgain[1] ?? 0));
            if (now?.state === 'sent') expect(corrected).toBeGreaterThanOrEqual(1);
            expect(own.length - marked.length).toBeLessThanOrEqual(1 + (sentAgain[0] ?? 0));
            seen.marked += marked.length;
          }
          // Every recipient of the edition has the corrected one, or its result is unknown.
          expect(['sent', 'unknown']).toContain(now?.state);
        }
      }),
      cases(40),
    );
    expect(seen.corrected, JSON.stringify(seen)).toBeGreaterThan(0);
    expect(seen.marked, JSON.stringify(seen)).toBeGreaterThan(0);
    expect(seen.unmarked, JSON.stringify(seen)).toBeGreaterThan(0);
  },
  within(60),
);
