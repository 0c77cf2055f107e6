import { join } from 'node:path';
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { toDocketError } from '../../../src/base/error.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { deliver } from '../../../src/deliver/deliver.ts';
import { isDenied } from '../../../src/deliver/denials/deny-list.ts';
import { archivedDenials, type Denials, sharedDenials } from '../../../src/deliver/denials/shared-denials.ts';
import { type Ledger, NOTICE_TARGET, noticeId } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { sendNotice } from '../../../src/deliver/notices/notice-sender.ts';
import { buildNotice } from '../../../src/deliver/notices/notice-text.ts';
import type { Mailer } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { allDeniedError, undeliveredError } from '../../../src/run/run-result.ts';
import {
  definitionWith,
  deliverInput,
  folderFor,
  ORDER,
  RUN,
  SETTINGS,
  sealedRun,
} from '../../support/delivery-case.ts';
import { cases, least, within } from '../../support/fuzz.ts';
import { openQueueHarness } from '../../support/queue-harness.ts';

const AUTHOR = { by: 'ana', reason: 'left' };
const RECIPIENTS = ['Ann@acme.example', 'bob@acme.example', 'cy@beta.example'] as const;
const OWNER = 'bob@acme.example';
/** Entries as people write them, and the recipients that they cover. */
const NAMES = {
  'ann@ACME.example': (to: string) => to.toLowerCase() === 'ann@acme.example',
  'bob@acme.example': (to: string) => to === OWNER,
  'beta.example': (to: string) => to.endsWith('@beta.example'),
  // Does not cover sub-domains or other spellings of a mailbox.
  'example.com': () => false,
  'ann+kpi@acme.example': () => false,
} as const;
type Name = keyof typeof NAMES;
const NAME_LIST = Object.keys(NAMES) as Name[];

const step = fc.record({
  laptop: fc.boolean(),
  act: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom('deny' as const, 'allow' as const),
        name: fc.constantFrom(...NAME_LIST),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('attempt' as const),
        /** What the server does with each recipient. `killed`: where the process dies. */
        answers: fc.array(fc.constantFrom('accept' as const, 'accept' as const, 'defer' as const, 'refuse' as const), {
          minLength: 3,
          maxLength: 3,
        }),
        killed: fc.option(fc.nat(2)),
        /** A person denies this name while the message to a recipient is being sent. */
        meanwhile: fc.option(fc.record({ name: fc.constantFrom(...NAME_LIST), at: fc.nat(2) })),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constantFrom('notice' as const, 'resend' as const, 'lose Redis' as const) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('break' as const, 'mend' as const) }) },
  ),
});

test(
  'a denied address never gets a message and nobody else misses one, whatever people and processes do',
  async () => {
    const met = {
      sent: 0,
      skipped: 0,
      together: 0,
      meanwhile: 0,
      killed: 0,
      allDenied: 0,
      ownerDenied: 0,
      unreadable: 0,
    };
    const sides = (await Promise.all([openQueueHarness(), openQueueHarness()])).map((own) => ({
      ...own,
      redis: own.producer,
      keys: redisKeys(own.prefix),
    }));
    const [server] = sides as [(typeof sides)[0], (typeof sides)[0]];
    const property = async (
      steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
      together: boolean,
      atFirst: readonly Name[],
    ) => {
      const root = await folderFor(onTestFinished);
      const storage = directoryStorage(join(root, 'archive'));
      const { archive, published } = await sealedRun(root);
      const ledger = redisLedger(server.redis, { prefix: `${server.prefix}:`, ttlDays: 90 });
      await server.redis.del(`${server.prefix}:deliveries:{${RUN.slice(0, 16)}}`);
      for (const { redis, keys } of sides) await redis.del(keys.denied, keys.deniedFresh);
      const opened = sides.map(
        ({ redis, prefix }): Denials => sharedDenials(redis, archivedDenials(storage), { prefix, clock: systemClock }),
      );
      const denied = new Set<Name>();
      const isOut = (to: string): boolean => [...denied].some((name) => NAMES[name](to));
      let broken = false;
      const timePasses = () => Promise.all(sides.map(({ redis, keys }) => redis.del(keys.deniedFresh)));
      const deny = async (denials: Denials, name: Name) => {
        await denials.deny([{ name: name.toLowerCase(), reason: undefined }], AUTHOR);
        denied.add(name);
        await timePasses();
      };
      const rowsOf = async () =>
        new Map(
          (await ledger.list(RUN)).filter(({ target }) => target !== NOTICE_TARGET).map((row) => [row.recipient, row]),
        );

      for (const name of atFirst) await deny(opened[0] as Denials, name);
      for (const { laptop, act } of steps) {
        const denials = opened[laptop ? 1 : 0] as Denials;
        await timePasses();
        if (act.do === 'deny' || act.do === 'allow') {
          const change = act.do === 'deny' ? deny(denials, act.name) : denials.allow([act.name.toLowerCase()], AUTHOR);
          if (broken) await expect(change).rejects.toMatchObject({ code: 'switch.unreadable' });
          else {
            await change;
            if (act.do === 'allow') denied.delete(act.name);
          }
        } else if (act.do === 'break' && !broken) {
          await storage.metadata.put('.denied/999999.json', '{');
          broken = true;
        } else if (act.do === 'lose Redis' && !broken) {
          for (const { redis, keys } of sides) await redis.del(keys.denied);
        } else if (act.do === 'resend' && !broken) {
          for (const { id, epoch, state, recipient } of (await rowsOf()).values())
            if (state === 'refused' || (state === 'skipped' && !isOut(recipient)))
              await ledger.resolve(id, epoch, { to: 'pending', ...AUTHOR, at: 1 });
        } else if (act.do === 'notice') {
          const sent: string[] = [];
          const mailer = mailerThat(async (to) => void sent.push(to));
          const row = {
            id: noticeId(RUN, `${OWNER} ${denied.size}`, false),
            run: RUN,
            org: ORDER.org,
            report: ORDER.report,
          };
          const content = { order: ORDER, definition: { title: 'KPIs' }, error: null, receipts: [] };
          const before = await ledger.find(row.id);
          const result = await sendNotice(
            { ...row, target: NOTICE_TARGET, recipient: OWNER },
            () => buildNotice(content),
            1,
            {
              mail: { from: 'docket@docket.example', mailer },
              ledger,
              denials,
              clock: systemClock,
              signal: new AbortController().signal,
              observe: () => {},
            },
          ).then(
            ({ state }) => state,
            (thrown: unknown) => toDocketError(thrown).code,
          );
          const isDone = before?.state === 'sent' || before?.state === 'skipped';
          expect(result).toBe(
            isDone ? before?.state : broken ? 'switch.unreadable' : isOut(OWNER) ? 'skipped' : 'sent',
          );
          expect(sent).toEqual(isDone || broken || isOut(OWNER) ? [] : [OWNER]);
          if (result === 'skipped') met.ownerDenied += 1;
        } else if (act.do === 'attempt') {
          await attemptOnce(act, denials);
        }
        if (act.do === 'mend' && broken) {
          await storage.metadata.deleteAll('.denied/999999.json');
          broken = false;
        }
      }

      async function attemptOnce(act: Extract<(typeof steps)[number]['act'], { do: 'attempt' }>, denials: Denials) {
        const before = await rowsOf();
        const outBefore = RECIPIENTS.filter(isOut);
        const sent: { readonly to: string; readonly named: readonly string[] }[] = [];
        const nthOf = (to: string) => RECIPIENTS.findIndex((each) => each.toLowerCase() === to.toLowerCase());
        let wasMeanwhile = false;
        const mailer = mailerThat(
          async (to, raw) => {
            const { to: named = [] } = await PostalMime.parse(raw);
            expect(isOut(to), 'denied when the server was asked').toBe(false);
            const answer = act.answers[nthOf(to)];
            if (answer === 'accept') sent.push({ to, named: named.map(({ address = '' }) => address) });
            return answer;
          },
          async (to) => {
            if (act.meanwhile === null || act.meanwhile.at !== nthOf(to) || wasMeanwhile || broken) return;
            wasMeanwhile = true;
            await deny(denials, act.meanwhile.name);
          },
        );
        const killedAt = act.killed === null ? undefined : RECIPIENTS[act.killed];
        const result = await deliver(
          deliverInput({
            definition: definitionWith([{ email: { to: [...RECIPIENTS], together } }]),
            settings: { ...SETTINGS, recipients: { domains: ['acme.example', 'beta.example'], addresses: [] } },
            published,
            mail: { from: 'docket@docket.example', mailer },
            ledger: killedAt === undefined ? ledger : dyingAt(ledger, killedAt),
            archive,
            denials,
          }),
        ).catch((thrown: unknown) => toDocketError(thrown).code);
        const after = await rowsOf();
        for (const { to, named } of sent) {
          expect(before.get(to)?.state ?? 'pending', 'sent once').toBe('pending');
          expect(named.map(nthOf).filter((nth) => outBefore.includes(RECIPIENTS[nth] as never))).toEqual([]);
          if (together && named.length < 3) met.together += 1;
        }
        if (broken) {
          expect([result, sent]).toEqual(['switch.unreadable', []]);
          met.unreadable += 1;
          return;
        }
        if (typeof result === 'string') {
          expect(result).toBe('internal.defect');
          met.killed += 1;
          return;
        }
        met.sent += sent.length;
        if (wasMeanwhile) met.meanwhile += 1;
        for (const { recipient, state, detail } of result.receipts) {
          const row = after.get(recipient);
          expect(row).toMatchObject({ state, detail });
          const was = before.get(recipient)?.state ?? 'pending';
          if (was !== 'pending') expect(state, 'settled before').toBe(was);
          else if (isOut(recipient) && !sent.some(({ to }) => to === recipient)) {
            // The server refused it before the address was denied.
            expect(['skipped', ...(outBefore.includes(recipient as never) ? [] : ['refused'])]).toContain(state);
          } else
            expect(state).toBe(
              { accept: 'sent', defer: 'pending', refuse: 'refused' }[act.answers[nthOf(recipient)] ?? 'accept'],
            );
          if (state === 'skipped') expect(isDenied({ state, detail })).toBe(true);
        }
        const states = result.receipts.map(({ state }) => state);
        met.skipped += states.filter((state) => state === 'skipped').length;
        expect(undeliveredError(result.receipts, RUN) === undefined, 'not partly delivered').toBe(
          states.every((state) => state === 'sent' || state === 'skipped'),
        );
        const nobody = states.every((state) => state === 'skipped');
        expect(allDeniedError(result.receipts) !== undefined).toBe(nobody);
        if (nobody) met.allDenied += 1;
      }
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 20 }), fc.boolean(), fc.subarray(NAME_LIST), property),
      cases(100),
    );
    for (const [what, count] of Object.entries(met)) expect(count, what).toBeGreaterThan(least(5));
    for (const side of sides) await side.close();
  },
  within(60),
);

/** @param whileConnecting called before the fence confirms */
const mailerThat = (
  answer: (to: string, raw: Uint8Array) => Promise<unknown>,
  whileConnecting: (to: string) => Promise<void> = async () => {},
): Mailer => ({
  send: async ({ to }, raw, _, fence) => {
    await whileConnecting(to);
    try {
      await fence?.confirm();
    } catch (error) {
      return { kind: 'deferred', response: String(error), server: false };
    }
    const answered = await answer(to, raw);
    if (answered === 'refuse') return { kind: 'refused', response: '550' };
    return answered === 'defer'
      ? { kind: 'deferred', response: '450', server: false }
      : { kind: 'accepted', response: '250' };
  },
  close: async () => {},
});

/** The process dies after it opened this recipient's row, before it begins the attempt. */
const dyingAt = (ledger: Ledger, recipient: string): Ledger => ({
  ...ledger,
  begin: async (id, at) => {
    if ((await ledger.find(id))?.recipient === recipient) throw new Error('killed');
    return ledger.begin(id, at);
  },
});
