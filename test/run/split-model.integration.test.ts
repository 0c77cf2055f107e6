import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { expect, inject, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import { splitSlug } from '../../src/definitions/split.ts';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { openRedis } from '../../src/redis/connection.ts';
import type { RunOrder } from '../../src/run/run-record.ts';
import { correctionsHarness, mortal } from '../support/corrections-harness.ts';
import { cases, least, within } from '../support/fuzz.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';
import { definitionOf } from '../support/reports.ts';

const DESKS = ['Retail', 'Merchants', 'Marketplace', 'Partners'];
const PEOPLE = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@acme.example`);
const METRICS = ['profiles.created', 'profiles.decided'];
type Recipients = Readonly<Record<string, readonly string[]>>;

/** Each step of a run is a process that may die at any of its calls. */
const life = fc.oneof(
  fc.record({ left: fc.constant(10_000), settles: fc.constant(10_000) }),
  fc.record({ left: fc.integer({ min: 1, max: 60 }), settles: fc.constant(10_000) }),
  // It dies after a message was sent, before the result is recorded.
  fc.record({ left: fc.constant(10_000), settles: fc.nat(3) }),
);
const IMMORTAL = { left: 10_000, settles: 10_000 };
const which = fc.nat(2);
const desk = fc.constantFrom(...DESKS);
const person = fc.constantFrom(...PEOPLE);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('begin' as const), life }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('repeat' as const), which, life }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('approve' as const), which, life }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('resend' as const), which, row: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('add' as const), desk, person }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), desk }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move' as const), from: desk, to: desk }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose the ledger' as const) }) },
);

const ENDED: ReadonlySet<string> = new Set(['refused', 'unknown']);

/** The recipients after a step. A step that is not possible changes nothing. */
const changed = (
  to: Recipients,
  requested: { do: string; desk?: string; person?: string; from?: string; to?: string },
) => {
  const next = new Map(Object.entries(to));
  const has = (name = '') => next.get(name) ?? [];
  if (requested.do === 'add')
    next.set(requested.desk ?? '', [...new Set([...has(requested.desk), requested.person ?? ''])]);
  if (requested.do === 'remove' && next.size > 1) next.delete(requested.desk ?? '');
  const [moved] = has(requested.from);
  if (requested.do === 'move' && moved !== undefined && requested.from !== requested.to) {
    const left = has(requested.from).slice(1);
    if (left.length === 0) next.delete(requested.from ?? '');
    else next.set(requested.from ?? '', left);
    next.set(requested.to ?? '', [...new Set([...has(requested.to), moved])]);
  }
  return Object.fromEntries(next);
};

test(
  'each recipient gets exactly the packs of their desks, in any order of runs, kills, approvals, resends and moves',
  async () => {
    const redis = await openRedis(inject('redisUrl'), 'worker', silentLog);
    const prefix = `split-model-${process.pid}:`;
    const forget = async () => {
      const keys = await redis.keys(`${prefix}*`);
      if (keys.length > 0) await redis.del(...keys);
    };
    onTestFinished(async () => {
      await forget();
      redis.disconnect();
    });
    const stored = redisLedger(redis, { prefix, ttlDays: 90 });
    const harness = await correctionsHarness({}, { key: 'acme', ledger: { ...stored, lose: () => void 0 } });
    const { ledger, archive, clock, mail, settings, orgs, frozen } = harness;
    orgs.set(settings.id, { ...settings, people: { eva: { name: 'Eva', tokens: ['eva'] } } } as never);
    const reference = inProcessSandbox({ now: clock.now() });
    /** The service’s figures of one desk when it is queried for that desk alone. */
    const figures = new Map<string, string>();
    const figuresOf = async (value: string, { from, to, timezone }: RunOrder['period']): Promise<string> => {
      const key = `${value} ${from}`;
      if (!figures.has(key)) {
        const filters = [{ dimension: 'profile.group', op: 'eq', values: [value] }];
        const { rows } = await reference.answered({ metrics: METRICS, filters, time: { from, to, timezone } });
        figures.set(key, METRICS.map((metric) => rows[0]?.[metric]).join());
      }
      return figures.get(key) ?? '';
    };
    let number = 0;
    let version = 0;
    const seen = { sent: 0, unknown: 0, resent: 0, approved: 0, moved: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 4, maxLength: 10 }),
        life,
        fc.boolean(),
        async (drawn, first, isApproved) => {
          const steps = [{ do: 'begin' as const, life: first }, ...drawn];
          number += 1;
          const before = mail.messages().length;
          const versions = new Map<string, Recipients>();
          let recipients: Recipients = Object.fromEntries(
            DESKS.slice(0, 3).map((name, index) => [name, [PEOPLE[index] ?? '']]),
          );
          const currentDefinition = (): Definition => {
            version += 1;
            const digest = version.toString(16).padStart(64, '0');
            versions.set(digest, recipients);
            return {
              ...definitionOf([{ id: 'all', metrics: METRICS }], {
                report: `r${number}`,
                title: 'Desks',
                period: 'previous_month',
                split: {
                  by: 'profile.group',
                  to: Object.fromEntries(Object.entries(recipients).map(([value, to]) => [value, [...to]])),
                  others: 'skip',
                },
                deliveries: [
                  { email: { to: 'split', attach: ['csv'], subject: '{{ split.value }} | {{ period.label }}' } },
                ] as never,
                outputs: [{ format: 'csv', name: '{{ split.slug }}' }],
                ...(isApproved ? { approval: { by: ['eva'], need: 1 } as never } : {}),
              }),
              digest,
            };
          };
          const runs: RunOrder[] = [];
          const execute = async (run: RunOrder, { left, settles } = IMMORTAL) => {
            const lives = { left };
            let settled = 0;
            const dying: typeof ledger = {
              ...ledger,
              settle: async (...row) => {
                settled += 1;
                if (settled <= settles) return ledger.settle(...row);
                lives.left = 0;
                throw new Error('killed');
              },
            };
            const { definition } = frozen.get(run.digest)!;
            return harness.execute(run, definition, { ledger: mortal(dying, lives), archive: mortal(archive, lives) });
          };
          const approve = async (run: RunOrder) => {
            const { definition } = frozen.get(run.digest)!;
            const waits = (await archive.peek(run)) === undefined && (await execute(run));
            if (waits && waits.kind === 'done' && waits.value.state === 'awaiting_approval') {
              await harness.approve(run, definition);
              seen.approved += 1;
            }
          };
          const again = new Map<string, number>();
          for (const requested of steps) {
            const run = 'which' in requested ? runs[requested.which] : undefined;
            if (requested.do === 'begin') {
              if (runs.length === 3) continue;
              const slot = new Date(Date.UTC(2026, 8 + runs.length, 2, 7)).toISOString();
              const order = await harness.orderOf(currentDefinition(), slot, Date.parse(slot));
              runs.push(order);
              await execute(order, requested.life);
            } else if (requested.do === 'repeat') {
              if (run !== undefined) await execute(run, requested.life);
            } else if (requested.do === 'approve') {
              if (run !== undefined && isApproved) await approve(run);
            } else if (requested.do === 'lose the ledger') {
              await forget();
            } else if (requested.do === 'resend') {
              if (run === undefined) continue;
              clock.advance(11 * 60_000);
              await execute(run);
              const rows = (await ledger.list(run.id)).filter(({ state }) => ENDED.has(state));
              const row = rows[requested.row % Math.max(1, rows.length)];
              const value = DESKS.find((name) => row?.target === `0-email:${splitSlug(name)}`);
              if (row === undefined) continue;
              const decision = { to: 'pending', by: 'ops', reason: 'not in her mailbox', at: clock.now() } as const;
              if ((await ledger.resolve(row.id, row.epoch, decision)) === undefined) continue;
              const key = `${row.recipient} ${value} ${run.period.label}`;
              again.set(key, (again.get(key) ?? 0) + 1);
              seen.resent += 1;
            } else {
              const next = changed(recipients, requested);
              seen.moved += requested.do === 'move' && JSON.stringify(next) !== JSON.stringify(recipients) ? 1 : 0;
              recipients = next;
            }
          }
          // Every run that was begun is finished: a killed process is detected after ten minutes.
          for (const run of runs) {
            clock.advance(11 * 60_000);
            if (isApproved) await approve(run);
            await execute(run);
          }

          const got = new Map<string, number>();
          for (const { to, path } of mail.messages().slice(before)) {
            expect(to).toHaveLength(1);
            const {
              subject = '',
              text = '',
              html = '',
              attachments,
            } = await PostalMime.parse(await readFile(path), { attachmentEncoding: 'utf8' });
            const [value = '', label = ''] = subject.split(' | ');
            const key = `${to[0]} ${value} ${label}`;
            got.set(key, (got.get(key) ?? 0) + 1);
            const run = runs.find(({ period }) => period.label === label);
            if (run === undefined) throw new Error(`a pack of no run: ${subject}`);
            const files = attachments.filter(({ filename }) => filename?.endsWith('.csv'));
            expect(files.map(({ filename }) => filename)).toEqual([`${splitSlug(value)}.csv`]);
            const content = String(files[0]?.content);
            const rows = parse(content, { bom: true }) as string[][];
            expect(rows[1]?.slice(0, METRICS.length).join(), key).toBe(await figuresOf(value, run.period));
            for (const other of DESKS.filter((each) => each !== value))
              expect(`${text}${html}${content}`).not.toContain(other);
          }
          const expected = new Set<string>();
          for (const run of runs) {
            const published = await archive.peek(run);
            expect(published, 'every run is published in the end').toBeDefined();
            const rows = await ledger.list(run.id);
            for (const [value, to] of Object.entries(versions.get(run.digest) ?? {})) {
              for (const recipient of to) {
                const key = `${recipient} ${value} ${run.period.label}`;
                expected.add(key);
                const row = rows.find(
                  ({ target, recipient: of }) => of === recipient && target === `0-email:${splitSlug(value)}`,
                );
                const [count, more] = [got.get(key) ?? 0, again.get(key) ?? 0];
                expect(['sent', 'unknown'], `${key}: ${row?.state}`).toContain(row?.state);
                expect(count, key).toBeLessThanOrEqual(1 + more);
                if (row?.state === 'sent') expect(count, key).toBeGreaterThanOrEqual(1);
                seen[row?.state === 'sent' ? 'sent' : 'unknown'] += 1;
              }
            }
          }
          expect([...got.keys()].filter((key) => !expected.has(key))).toEqual([]);
        },
      ),
      cases(20),
    );
    for (const [what, count] of Object.entries(seen))
      expect(count, `${what} of ${JSON.stringify(seen)}`).toBeGreaterThan(least(0));
  },
  within(60),
);
