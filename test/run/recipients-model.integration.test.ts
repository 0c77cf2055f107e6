import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deliveryId } from '../../src/deliver/ledger/ledger.ts';
import { loadReview } from '../../src/run/review/load-review.ts';
import { cases, within } from '../support/fuzz.ts';
import { type ProcessLife, processLife } from '../support/review-world/killable.ts';
import { SIGN_INS, VERSIONS } from '../support/review-world/reports.ts';
import { type AnsweringService, recordedAnswers } from '../support/review-world/service.ts';
import { reviewWorld } from '../support/review-world/world.ts';

/** First the addresses of the definition, then those that people may add. */
const NAMED = ['lead@acme.example', 'board@acme.example'];
const ADDRESSES = [...NAMED, 'ana@acme.example', 'bea@acme.example', 'eve@other.example'];
const APPROVERS: Readonly<Record<string, number>> = { ann: 0, bob: 2, cem: 3 };

type Command =
  | { readonly do: 'send'; readonly to: number; readonly replaces: number | null; readonly who: number }
  | { readonly do: 'decide'; readonly to: number; readonly who: number; readonly admitted: boolean }
  | { readonly do: 'retry' | 'resend' | 'cancel' | 'flush' | 'sweep' | 'allow' }
  | { readonly do: 'refuse'; readonly of: number }
  | { readonly do: 'work'; readonly at: number | null }
  /** The process that takes the decision dies at this step. */
  | { readonly do: 'dying'; readonly at: number; readonly decision: Command };

const address = fc.nat({ max: ADDRESSES.length - 1 });
const who = fc.nat({ max: SIGN_INS.length - 1 });
const send = fc.record({
  do: fc.constant('send' as const),
  to: fc.constantFrom(2, 2, 2, 3, 3, 0, 1, 4),
  replaces: fc.constantFrom(1, 1, 2, 0, null, null, null),
  who: fc.oneof(fc.constant(5), who),
});
const decide = fc.record({
  do: fc.constant('decide' as const),
  to: fc.constantFrom(2, 2, 3),
  who: fc.constantFrom(...Object.values(APPROVERS), 1, 5),
  admitted: fc.constantFrom(true, true, true, false),
});
const decision: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: send },
  { weight: 3, arbitrary: decide },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('retry', 'resend', 'cancel') }) },
);
const step: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: decision },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('dying' as const), at: fc.nat({ max: 40 }), decision }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('work' as const), at: fc.option(fc.integer({ min: 1, max: 90 })) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refuse' as const), of: address }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('flush', 'sweep', 'allow') }) },
);

const met = new Map<string, number>();
const count = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);

let folder: string;
let answering: (truncated: () => boolean) => AnsweringService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-recipients-model-'));
  answering = await recordedAnswers();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const versionWith = (need: number | undefined) =>
  VERSIONS.find(
    ({ policy, frozen: { definition } }) =>
      policy?.need === need &&
      policy?.fourEyes !== false &&
      definition.sections.every(({ commentary }) => commentary === undefined) &&
      JSON.stringify(definition.deliveries).includes(NAMED[1] ?? '') &&
      JSON.stringify(definition.deliveries).includes(NAMED[0] ?? ''),
  )!;
const REPORTS = [versionWith(undefined), versionWith(undefined), versionWith(1), versionWith(2)];

/** Runs the report up to its first deliveries, then the commands. Judges every message that is sent. */
async function play(version: (typeof VERSIONS)[number], refusedFirst: readonly number[], commands: readonly Command[]) {
  const { policy, frozen } = version;
  const violations: string[] = [];
  const accepted = new Map<string, number>();
  const refused = new Set(refusedFirst.map((index) => ADDRESSES[index] ?? ''));
  /** Who first requested each address, whatever came of it. */
  const requested = new Map<string, string>();
  const approvedBy = new Map<string, Set<string>>();
  /** Addresses whose replacement was confirmed to the person who requested it. */
  const closed = new Set<string>();
  let resends = 0;
  const world = reviewWorld(
    folder,
    answering(() => false),
    ({ to, raw }) => {
      if (!raw.includes('kpis.csv')) return undefined;
      if (refused.has(to)) return { kind: 'refused', response: '550 5.1.1 no such user' };
      accepted.set(to, (accepted.get(to) ?? 0) + 1);
      const typist = requested.get(to);
      if (!NAMED.includes(to)) {
        if (typist === undefined) violations.push(`${to} got it, and nobody asked for that`);
        const given = [...(approvedBy.get(to) ?? [])].filter((human) => human !== typist);
        if (policy !== undefined && given.length < policy.need) violations.push(`${to} got it, approved by ${given}`);
        count(policy === undefined ? 'added' : 'added and approved');
      }
      if (closed.has(to)) violations.push(`${to} got it after it was replaced`);
      const { domains, addresses } = world.orgs.get('acme')!.recipients;
      if (!domains.includes(to.split('@')[1] ?? '') && !addresses.includes(to)) violations.push(`${to} is not allowed`);
      return undefined;
    },
  );
  const first = world.process();
  const { record } = await first.trigger({
    ...frozen,
    slot: { trigger: 't' },
    trigger: 'on_demand',
    priority: 'on_demand',
    deliver: true,
    by: 'dora',
  });
  const { id } = record;
  await world.settle();
  const author = { by: 'ops', reason: 'r' };
  if (world.records.get(id)?.state === 'held') await first.decisions.release(id, author);
  for (const index of policy === undefined ? [] : [0, 2].slice(0, policy.need)) {
    const { state } = await loadReview(first.reviews, record);
    await first.service.approve(id, state.content ?? '', 'ok', SIGN_INS[index]!.by);
  }
  await world.settle();

  const run = async (command: Command, life: ProcessLife = processLife()): Promise<void> => {
    const here = world.process(life);
    const settings = world.orgs.get('acme')!;
    switch (command.do) {
      case 'send': {
        const [to = '', by] = [ADDRESSES[command.to], SIGN_INS[command.who]!];
        const replaces = command.replaces === null ? undefined : ADDRESSES[command.replaces];
        if (!requested.has(to)) requested.set(to, by.human);
        const { waits } = await here.recipients.send(id, { to, replaces }, 'r', by.by);
        if (waits === null && replaces !== undefined) closed.add(replaces);
        return count(`send ${waits === null ? 'queued' : 'waits'}${replaces === undefined ? '' : ', replaces'}`);
      }
      case 'decide': {
        const [to = '', by] = [ADDRESSES[command.to], SIGN_INS[command.who]!];
        const delivery = deliveryId(id, '0-email', to);
        const approvers = policy?.approvers ?? [];
        if (command.admitted && approvers.includes(by.human)) {
          approvedBy.set(to, (approvedBy.get(to) ?? new Set()).add(by.human));
        }
        await here.recipients.decide(id, delivery, command.admitted, 'r', by.by);
        return count('decide');
      }
      case 'retry':
        await here.decisions.retry(id, author);
        return count('retry');
      case 'cancel':
        await here.decisions.cancel(id, author);
        return count('cancel');
      case 'resend':
        resends += 1;
        await here.decisions.resolveMany(id, 'all', 'resend', author);
        return count('resend');
      case 'flush':
        return world.flushRedis();
      case 'sweep':
        return here.sweep();
      case 'allow': {
        const isOpen = settings.recipients.domains.length > 0;
        const recipients = isOpen ? { domains: [], addresses: NAMED } : { domains: ['acme.example'], addresses: [] };
        world.orgs.set('acme', { ...settings, recipients });
        return;
      }
      case 'refuse': {
        const of = ADDRESSES[command.of] ?? '';
        if (!refused.delete(of)) refused.add(of);
        return;
      }
      case 'work':
        await world.work(processLife(command.at ?? undefined));
        return;
      case 'dying': {
        const dying = processLife(command.at);
        await attempt(command.decision, dying);
        if (dying.isDead()) count('killed');
      }
    }
  };
  /** Refusals are expected; a defect is not. */
  const attempt = async (command: Command, life?: ProcessLife): Promise<void> => {
    try {
      await run(command, life);
    } catch (thrown) {
      if (life?.isDead() !== true && world.codeOf(thrown) === 'internal.defect') throw thrown;
    }
  };
  for (const command of commands) await attempt(command);
  await world.settle();
  return { violations, accepted, resends };
}

test(
  'however recipients are added, replaced, retried and resent, nobody gets a run twice or by accident',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: REPORTS.length - 1 }),
        fc.constantFrom([], [1], [1], [0, 1]),
        fc.array(step, { minLength: 4, maxLength: 16, size: 'max' }),
        async (report, refused, commands) => {
          const { violations, accepted, resends } = await play(REPORTS[report]!, refused, commands);
          expect(violations).toEqual([]);
          if (resends > 0) return;
          for (const [to, times] of accepted) expect(times, to).toBe(1);
        },
      ),
      {
        ...cases(120),
        examples: [
          [
            0,
            [1],
            [{ do: 'send', to: 2, replaces: 1, who: 5 }, { do: 'work', at: 40 }, { do: 'flush' }, { do: 'retry' }],
          ],
          [
            3,
            [1],
            [
              { do: 'send', to: 2, replaces: 1, who: 5 },
              { do: 'decide', to: 2, who: 0, admitted: true },
              { do: 'decide', to: 2, who: 2, admitted: true },
              { do: 'work', at: null },
            ],
          ],
        ],
      },
    );
    if (process.env.RECIPIENTS_MODEL !== undefined) console.log(Object.fromEntries([...met].sort()));
    // The test proves nothing about what was never sent.
    expect(met.get('added') ?? 0).toBeGreaterThan(0);
    expect(met.get('added and approved') ?? 0).toBeGreaterThan(0);
  },
  within(60),
);
