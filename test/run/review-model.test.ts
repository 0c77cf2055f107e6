import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadReview } from '../../src/run/review/load-review.ts';
import { TERMINAL_STATES } from '../../src/run/run-record.ts';
import { ALL_CASES, cases, within } from '../support/fuzz.ts';
import { Killed, processLife } from '../support/review-world/killable.ts';
import { approvalOracle, type KnownRun, Violation } from '../support/review-world/oracle.ts';
import { policyOf, SIGN_INS, VERSIONS } from '../support/review-world/reports.ts';
import { type AnsweringService, recordedAnswers } from '../support/review-world/service.ts';
import { type ReviewWorld, reviewWorld } from '../support/review-world/world.ts';

const HOUR_MS = 3_600_000;

type Command =
  | { readonly do: 'trigger'; readonly who: number; readonly kind: 'on_demand' | 'schedule' | 'backfill' }
  | { readonly do: 'edit'; readonly to: number }
  | { readonly do: 'comment'; readonly who: number; readonly run: number; readonly text: number; readonly all: boolean }
  | { readonly do: 'approve'; readonly who: number; readonly run: number; readonly stale: boolean }
  | { readonly do: 'reject'; readonly who: number; readonly run: number; readonly refetch: boolean }
  | { readonly do: 'release' | 'retry' | 'cancel' | 'resend'; readonly run: number }
  | { readonly do: 'flush' | 'orphans' | 'truncate' }
  | { readonly do: 'clock'; readonly hours: number }
  | { readonly do: 'work' | 'sweep'; readonly at: number | null; readonly meanwhile: Command | 'dies' };

const run = fc.nat({ max: 2 });
const who = fc.nat({ max: SIGN_INS.length - 1 });
const decision: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('approve' as const),
      who,
      run,
      stale: fc.boolean().map((flag) => flag),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('comment' as const),
      who,
      run,
      text: fc.nat({ max: 3 }),
      all: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reject' as const), who, run, refetch: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('release', 'retry', 'cancel', 'resend', 'release', 'retry'), run }),
  },
);
const step: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: decision },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('trigger' as const),
      who,
      kind: fc.constantFrom('on_demand', 'schedule', 'backfill'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('edit' as const), to: fc.nat({ max: VERSIONS.length - 1 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('flush', 'orphans', 'truncate') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clock' as const), hours: fc.integer({ min: -30, max: 100 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('work', 'work', 'work', 'sweep'),
      at: fc.option(fc.integer({ min: 1, max: 160 })),
      meanwhile: fc.oneof(fc.constant('dies' as const), decision),
    }),
  },
);
/** A review usually begins with these. */
const opening: fc.Arbitrary<readonly Command[]> = fc
  .record({ who, to: fc.nat({ max: VERSIONS.length - 1 }) })
  .map(({ who: by, to }): readonly Command[] => [
    { do: 'edit', to },
    { do: 'trigger', who: by, kind: 'on_demand' },
    { do: 'work', at: null, meanwhile: 'dies' },
  ]);
const sequence = fc
  .tuple(opening, fc.array(step, { minLength: 4, maxLength: 24, size: 'max' }))
  .map(([first, rest]) => [...first, ...rest]);

const TEXTS = ['Fewer than in spring.', 'It was {{ onboarding.profiles.created }}.', '=1+1', null] as const;

/** How often each kind of thing happened, over all sequences: a test that never sends shows nothing. */
const met = new Map<string, number>();
const count = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);

let folder: string;
let answering: (truncated: () => boolean) => AnsweringService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-review-model-'));
  answering = await recordedAnswers();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Playing {
  readonly world: ReviewWorld;
  readonly known: Map<string, KnownRun>;
  readonly seen: Map<string, string>;
  version: number;
  truncated: boolean;
  triggers: number;
}

async function play(playing: Playing, command: Command): Promise<void> {
  const { world, known } = playing;
  const at = (index: number): string => [...known.keys()][index % Math.max(1, known.size)] ?? '';
  const signIn = (index: number) => SIGN_INS[index % SIGN_INS.length]?.by ?? SIGN_INS[0]!.by;
  const here = world.process();
  const author = { by: 'ops', reason: 'r' };
  switch (command.do) {
    case 'edit':
      playing.version = command.to;
      return;
    case 'truncate':
      playing.truncated = !playing.truncated;
      return;
    case 'clock':
      return world.advance(command.hours * HOUR_MS);
    case 'flush':
      return world.flushRedis();
    case 'orphans':
      return world.requeueOrphans();
    case 'trigger': {
      const { frozen } = VERSIONS[playing.version % VERSIONS.length]!;
      const { name } = signIn(command.who);
      const { kind } = command;
      playing.triggers += 1;
      const { record } = await here.trigger({
        ...frozen,
        slot:
          kind === 'schedule' ? { scheduled: Date.parse('2026-11-23T08:00:00Z') } : { trigger: `t${playing.triggers}` },
        trigger: kind,
        priority: kind === 'schedule' ? 'scheduled' : kind,
        deliver: true,
        ...(kind === 'schedule' ? {} : { by: name }),
      });
      if (!known.has(record.id)) {
        known.set(record.id, { digest: record.digest, triggeredBy: kind === 'schedule' ? null : name });
      }
      return;
    }
    case 'comment': {
      const text = TEXTS[command.text % TEXTS.length] ?? null;
      await here.service.comment(at(command.run), command.all ? null : 'onboarding', text, signIn(command.who));
      return count('comment');
    }
    case 'approve': {
      const id = at(command.run);
      const { state } = await loadReview(here.reviews, { id, org: 'acme', report: 'weekly' });
      const content = (command.stale ? playing.seen.get(id) : undefined) ?? state.content ?? 'f'.repeat(64);
      playing.seen.set(id, content);
      await here.service.approve(id, content, 'ok', signIn(command.who));
      return count('approve');
    }
    case 'reject': {
      const id = at(command.run);
      const { state } = await loadReview(here.reviews, { id, org: 'acme', report: 'weekly' });
      const { refetch } = command;
      await here.service.reject(id, state.content ?? 'f'.repeat(64), { reason: 'no', refetch }, signIn(command.who));
      return count(refetch ? 'refetch' : 'reject');
    }
    case 'release':
      await here.decisions.release(at(command.run), author);
      return count('release');
    case 'retry':
      await here.decisions.retry(at(command.run), author);
      return count('retry');
    case 'cancel':
      await here.decisions.cancel(at(command.run), author);
      return count('cancel');
    case 'resend': {
      await here.decisions.resolveMany(at(command.run), 'all', 'resend', author);
      return count('resend');
    }
    case 'work':
    case 'sweep': {
      const { meanwhile } = command;
      const event =
        meanwhile === 'dies'
          ? meanwhile
          : () => {
              count(`${meanwhile.do} during ${command.do}`);
              return attempt(playing, meanwhile);
            };
      const life = processLife(command.at ?? undefined, event);
      if (command.do === 'work') await world.work(life);
      else await world.process(life).sweep();
      if (life.isDead()) count(`killed ${command.do}`);
    }
  }
}

/** Expected refusals are part of the game; a defect or a violation is not. */
async function attempt(playing: Playing, command: Command): Promise<void> {
  try {
    await play(playing, command);
  } catch (thrown) {
    if (thrown instanceof Violation) throw thrown;
    if (thrown instanceof Killed) return;
    if (playing.world.codeOf(thrown) === 'internal.defect') throw thrown;
  }
}

test(
  'nothing with an approval leaves without the approval of exactly its content by enough different people',
  async () => {
    await fc.assert(
      fc.asyncProperty(sequence, async (commands) => {
        const known = new Map<string, KnownRun>();
        const violations: unknown[] = [];
        const playing: Playing = {
          known,
          seen: new Map(),
          version: 0,
          truncated: false,
          triggers: 0,
          world: reviewWorld(
            folder,
            answering(() => playing.truncated),
            (mail) => {
              try {
                oracle.onMail(mail);
              } catch (violation) {
                violations.push(violation);
              }
            },
          ),
        };
        const { world } = playing;
        const oracle = approvalOracle(world.files, known);
        for (const command of commands) await attempt(playing, command);
        await world.settle();
        expect(violations).toEqual([]);
        for (const [id, { digest }] of known) {
          const record = world.records.get(id);
          const { state, events } = await loadReview(world.process().reviews, { id, org: 'acme', report: 'weekly' });
          count(`${policyOf(digest) === undefined ? '' : 'approval '}${record?.state ?? 'lost'}`);
          // A run that was lost with Redis before its review began leaves nothing behind.
          if (events.length === 0 && record === undefined) continue;
          if (record === undefined) continue;
          expect(TERMINAL_STATES.has(record.state), `${id} is ${record.state}`).toBe(true);
          if (record.state === 'awaiting_approval') expect(state.phase).toBe('approval');
          if (state.phase === 'ready' || state.phase === 'figures')
            expect(['failed', 'cancelled', 'done', 'held']).toContain(record.state);
          const to = oracle.sent.get(id) ?? [];
          if (to.length > 0) count(`sent${policyOf(digest) === undefined ? '' : ' approved'}`);
        }
      }),
      { ...cases(3_000), ...JSON.parse(process.env.REVIEW_MODEL ?? '{}') },
    );
    console.log(Object.fromEntries([...met].sort()));
    if (ALL_CASES) expect(met.get('sent approved') ?? 0).toBeGreaterThan(100);
  },
  within(60),
);
