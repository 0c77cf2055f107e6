import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/base/secrets/secret.ts';
import type { Archive } from '../../src/deliver/archive/archive.ts';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import { deliver } from '../../src/deliver/deliver.ts';
import type { Ledger } from '../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { type Mailer, type SendResult, smtpMailer } from '../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { Crash, type CrashPlan, crashing } from '../support/crash.ts';
import { definitionWith, deliverInput, folderFor, ORDER, sealedRun } from '../support/delivery-case.ts';
import { memoryLedger } from '../support/memory-ledger.ts';
import { scriptedSmtp } from '../support/smtp-script.ts';

const redis = new Redis(inject('redisUrl'));
const prefix = `test-crash-${process.pid}`;
afterAll(async () => {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
});

const TO = ['a@acme.example', 'b@acme.example'];
const DEFINITION = definitionWith([{ email: { to: TO, attach: ['csv'] } }, { directory: { path: 'out' } }]);

/** A run that dies as planned, and is then started again twice with what the dead process left. */
async function diesAndIsStartedAgain(ledger: Ledger, plan: CrashPlan | undefined) {
  const root = await folderFor(onTestFinished);
  const server = await scriptedSmtp({});
  onTestFinished(() => server.close());
  const { archive, published } = await sealedRun(root);
  const mailer = smtpMailer(new Secret(server.url));
  const input = deliverInput({
    definition: DEFINITION,
    published,
    mail: { mailer, from: 'reports@docket.example' },
    ledger,
    archive,
    workingDirectory: root,
  });
  const { guard, calls } = crashing(plan);
  const first = deliver({
    ...input,
    ledger: guard(ledger),
    archive: guard(archive),
    mail: { mailer: guard(mailer), from: 'reports@docket.example' },
  });
  if (plan === undefined) await first;
  else await expect(first).rejects.toBeInstanceOf(Crash);
  const second = await deliver(input);
  const third = await deliver(input);
  const received = (to: string) =>
    server.conversations.filter(({ accepted, commands }) => accepted && commands.includes(`RCPT TO:<${to}>`)).length;
  return { second, third, received, calls: calls() };
}

let round = 0;
const LEDGERS: readonly [string, () => Ledger][] = [
  ['in memory', memoryLedger],
  ['in Redis', () => redisLedger(redis, { prefix: `${prefix}-${round++}:`, ttlDays: 1 })],
];

test.each(LEDGERS)(
  'a crash before or after any step loses nothing and sends nothing twice (ledger %s)',
  async (_, make) => {
    const { calls: steps } = await diesAndIsStartedAgain(make(), undefined);
    expect(steps).toEqual(expect.arrayContaining(['open', 'begin', 'send', 'settle', 'putMessage', 'putReceipts']));
    const unknown: string[] = [];
    for (const [at, step] of steps.entries()) {
      for (const when of ['before', 'after'] as const) {
        const { second, third, received } = await diesAndIsStartedAgain(make(), { at, when });
        expect(third).toEqual(second);
        expect(second.receipts).toHaveLength(3);
        // Of two running messages, only one can have been sent.
        expect(second.receipts.filter(({ state }) => state === 'unknown').length).toBeLessThanOrEqual(1);
        for (const { recipient, state } of second.receipts) {
          const because = `${when} ${step} (${at}): ${recipient} is ${state}`;
          expect(['sent', 'unknown'], because).toContain(state);
          if (state === 'unknown') {
            unknown.push(`${when} ${step}`);
            expect(at, because).toBeGreaterThanOrEqual(steps.indexOf('begin'));
          }
          if (!TO.includes(recipient)) continue;
          // `sent` was sent exactly once, `unknown` at most once.
          if (state === 'sent') expect(received(recipient), because).toBe(1);
          else expect(received(recipient), because).toBeLessThanOrEqual(1);
        }
      }
    }
    // A result is unknown only between the ledger's `sending` and its record of the end. The next row may already be
    // `sending` after that, and the previous one while a message is archived ahead.
    const expected = [
      ...['after begin', 'before putAttempt', 'after putAttempt'],
      ...['before send', 'before find', 'after find', 'after send', 'before settle'],
    ];
    const maybe = ['after settle', 'before putMessage', 'after putMessage'];
    expect(new Set(unknown.filter((when) => !maybe.includes(when)))).toEqual(new Set(expected));
  },
  // Hundreds of runs with all their files take long on a busy machine.
  120_000,
);

/** What really happens at the mail server, and the result that Docket gets. */
const FATES = {
  'delivered, said so': { delivered: true, result: { kind: 'accepted', response: '250 Ok' } },
  'delivered, answer lost': { delivered: true, result: { kind: 'unknown', why: 'No answer' } },
  'lost, answer lost': { delivered: false, result: { kind: 'unknown', why: 'No answer' } },
  'put off': { delivered: false, result: { kind: 'deferred', response: '450 Later', server: false } },
  'server down': { delivered: false, result: { kind: 'deferred', response: 'ECONNREFUSED', server: true } },
  refused: { delivered: false, result: { kind: 'refused', response: '550 No' } },
} as const satisfies Record<string, { delivered: boolean; result: SendResult }>;
type Fate = keyof typeof FATES;

test('no server behaviour and no crash causes a duplicate or a wrong ledger state', async () => {
  const { published } = await sealedRun(await folderFor(onTestFinished));
  const archive: Archive = {
    ...directoryArchive(published.folder),
    putMessage: async () => 'f'.repeat(64),
    putAttempt: async () => {},
    getArchivedStates: async () => new Map(),
    putReceipts: async () => {},
  };
  const definition = definitionWith([{ email: { to: [...TO, 'c@acme.example'] } }]);
  const fate = fc.constantFrom(...(Object.keys(FATES) as Fate[]));
  const life = fc.record({
    fates: fc.array(fate, { minLength: 3, maxLength: 3 }),
    plan: fc.option(fc.record({ at: fc.nat(25), when: fc.constantFrom('before', 'after' as const) }), {
      nil: undefined,
    }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 6 }), async (lives) => {
      const ledger = memoryLedger();
      const got = new Map<string, number>();
      for (const { fates, plan } of [...lives, { fates: Array<Fate>(3).fill('delivered, said so'), plan: undefined }]) {
        const { guard } = crashing(plan);
        const left = [...fates];
        const mailer: Mailer = {
          send: async ({ to }) => {
            const { delivered, result } = FATES[left.shift() ?? 'refused'];
            if (delivered) got.set(to, (got.get(to) ?? 0) + 1);
            return result;
          },
          close: async () => {},
        };
        await deliver(
          deliverInput({
            definition,
            published,
            mail: { mailer: guard(mailer), from: 'reports@docket.example' },
            ledger: guard(ledger),
            archive: guard(archive),
          }),
        ).catch((error: unknown) => expect(error).toBeInstanceOf(Crash));
      }
      const rows = await ledger.list(ORDER.id);
      expect(rows).toHaveLength(3);
      for (const { recipient, state } of rows) {
        const copies = got.get(recipient) ?? 0;
        if (state === 'sent') expect(copies).toBe(1);
        else if (state === 'refused') expect(copies).toBe(0);
        else {
          // The last call did not crash, so nothing is left to do. Each result that is not known is `unknown`.
          expect(state).toBe('unknown');
          expect(copies).toBeLessThanOrEqual(1);
        }
      }
    }),
    { numRuns: 300 },
  );
});
