import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resolvePerson, shellPerson } from '../../src/definitions/people.ts';
import { loadReview } from '../../src/run/review/load-review.ts';
import { TERMINAL_STATES, WAITING_STATES } from '../../src/run/run-record.ts';
import { cases, within } from '../support/fuzz.ts';
import { Killed, type ProcessLife, processLife } from '../support/review-world/killable.ts';
import { approvalOracle, type KnownRun, Violation } from '../support/review-world/oracle.ts';
import { PARSED_PEOPLE, policyOf, SIGN_INS, VERSIONS } from '../support/review-world/reports.ts';
import { type AnsweringService, recordedAnswers } from '../support/review-world/service.ts';
import { type ReviewWorld, reviewWorld } from '../support/review-world/world.ts';

const HOUR_MS = 3_600_000;
/** Parameters of fast-check as JSON, e.g. a seed and a path to repeat a failure: `REVIEW_MODEL='{"numRuns":3000}'`. */
const PARAMETERS: object = JSON.parse(process.env.REVIEW_MODEL ?? '{}');

type Command =
  | { readonly do: 'trigger'; readonly who: number; readonly kind: 'on_demand' | 'schedule' | 'backfill' }
  | { readonly do: 'edit'; readonly to: number }
  | { readonly do: 'comment'; readonly who: number; readonly run: number; readonly text: number; readonly all: boolean }
  | { readonly do: 'approve'; readonly who: number; readonly run: number; readonly stale: boolean }
  /** As `approve`, from a process that checks nothing: only the meaning of the events protects the run. */
  | { readonly do: 'append'; readonly who: number; readonly run: number; readonly stale: boolean }
  | { readonly do: 'reject'; readonly who: number; readonly run: number; readonly refetch: boolean }
  | { readonly do: 'release' | 'retry' | 'cancel' | 'resend'; readonly run: number }
  | { readonly do: 'flush' | 'orphans' | 'truncate' }
  | { readonly do: 'clock'; readonly hours: number }
  /** Something happens while a process works: it dies at a step, or a person decides. */
  | { readonly do: 'work' | 'sweep'; readonly at: number | null; readonly meanwhile: Command | 'dies' }
  /** The process that takes the decision dies at this step. */
  | { readonly do: 'dying'; readonly at: number; readonly decision: Command };

const run = fc.nat({ max: 2 });
const who = fc.nat({ max: SIGN_INS.length - 1 });
const decision: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('approve', 'approve', 'append'), who, run, stale: fc.boolean() }),
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
  { weight: 1, arbitrary: fc.record({ do: fc.constant('dying' as const), at: fc.nat({ max: 30 }), decision }) },
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
/** The usual beginning of a review. */
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

/**
 * The report is edited so that it needs no approval, Redis is lost, and the schedule opens the slot of a review again.
 */
const REOPENED_SLOT: Command[] = [
  { do: 'edit', to: 0 },
  { do: 'trigger', who: 0, kind: 'schedule' },
  { do: 'work', at: null, meanwhile: 'dies' },
  { do: 'flush' },
  { do: 'edit', to: VERSIONS.length - 1 },
  { do: 'trigger', who: 0, kind: 'schedule' },
  { do: 'work', at: null, meanwhile: 'dies' },
];

const WORK: Command = { do: 'work', at: null, meanwhile: 'dies' };
const started = (version: number): Command[] => [
  { do: 'edit', to: version },
  { do: 'trigger', who: 5, kind: 'on_demand' },
  WORK,
];
const append = (who: number, stale = false): Command => ({ do: 'append', who, run: 0, stale });
/** Two approvals are needed, and one person has two tokens. */
const ONE_PERSON_TWICE: Command[] = [...started(3), append(0), append(1), WORK];
const OTHER_CONTENT: Command[] = [...started(0), append(2, true), WORK];

const TEXTS = ['Fewer than in spring.', 'It was {{ onboarding.profiles.created }}.', '=1+1', null] as const;

/** How often each kind of event happened over all sequences: a test in which nothing is sent proves nothing. */
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
  resends: number;
}

async function play(playing: Playing, command: Command, life = processLife()): Promise<void> {
  const { world, known } = playing;
  const at = (index: number): string => [...known.keys()][index % Math.max(1, known.size)] ?? '';
  const signIn = (index: number) => SIGN_INS[index % SIGN_INS.length]?.by ?? SIGN_INS[0]!.by;
  const here = world.process(life);
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
    case 'append':
    case 'approve': {
      const id = at(command.run);
      const ref = { id, org: 'acme', report: 'weekly' };
      const { state } = await loadReview(here.reviews, ref);
      const content = command.stale ? (playing.seen.get(id) ?? 'f'.repeat(64)) : (state.content ?? 'f'.repeat(64));
      if (state.content !== null) playing.seen.set(id, state.content);
      const by = signIn(command.who);
      if (command.do === 'append') {
        const who = by.kind === 'shell' ? shellPerson(by.name) : resolvePerson({ ...by, kind: by.kind }, PARSED_PEOPLE);
        const seq = state.seq + 1;
        const event = { type: 'approve', seq, at: here.clock.now(), by: who, content, reason: 'ok' } as const;
        if (state.seq > 0) await here.reviews.append(ref, seq, event);
      } else await here.service.approve(id, content, 'ok', by);
      return count(command.do);
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
      playing.resends += 1;
      return count('resend');
    }
    case 'dying': {
      const dying = processLife(command.at);
      await attempt(playing, command.decision, dying);
      if (dying.isDead()) count('killed decision');
      return;
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
      const working = processLife(command.at ?? undefined, event);
      if (command.do === 'work') await world.work(working);
      else await world.process(working).sweep();
      if (working.isDead()) count(`killed ${command.do}`);
    }
  }
}

/** Expected refusals are ignored; a defect or a violation is not. */
async function attempt(playing: Playing, command: Command, life?: ProcessLife): Promise<void> {
  try {
    await play(playing, command, life);
  } catch (thrown) {
    if (thrown instanceof Violation) throw thrown;
    if (thrown instanceof Killed || life?.isDead() === true) return;
    if (playing.world.codeOf(thrown) === 'internal.defect') throw thrown;
  }
}

test(
  'no run that needs approval is sent until enough different people have approved exactly its content',
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
          resends: 0,
          world: reviewWorld(
            folder,
            answering(() => playing.truncated),
            (mail) => {
              try {
                oracle.onMail(mail);
              } catch (violation) {
                violations.push(violation);
              }
              return undefined;
            },
          ),
        };
        const { world } = playing;
        const oracle = approvalOracle(world.files, known);
        for (const command of commands) await attempt(playing, command);
        await world.settle();
        expect(violations).toEqual([]);
        const { reviews } = world.process();
        for await (const { run: open } of reviews.listOpen()) {
          expect(TERMINAL_STATES.has(world.records.get(open.id)?.state ?? 'queued'), `${open.id} goes on`).toBe(true);
        }
        for (const [id, { digest }] of known) {
          const record = world.records.get(id);
          const { state, events } = await loadReview(reviews, { id, org: 'acme', report: 'weekly' });
          count(`${policyOf(digest) === undefined ? '' : 'approval '}${record?.state ?? 'lost'}`);
          const to = oracle.sent.get(id) ?? [];
          if (to.length > 0) count(`sent${policyOf(digest) === undefined ? '' : ' approved'}`);
          if (playing.resends === 0) expect(new Set(to).size, `${id} was sent twice`).toBe(to.length);
          // It was lost with Redis before its review began, or after its end.
          if (record === undefined || events.length === 0) continue;
          // Neither a process nor a worker is left waiting for the other.
          expect(TERMINAL_STATES.has(record.state), `${id} is ${record.state}`).toBe(true);
          if (WAITING_STATES.has(record.state)) expect(['comments', 'incomplete', 'approval']).toContain(state.phase);
          if (record.state === 'awaiting_approval') expect(state.phase).toBe('approval');
        }
      }),
      { ...cases(150), examples: [[REOPENED_SLOT], [ONE_PERSON_TWICE], [OTHER_CONTENT]], ...PARAMETERS },
    );
    if (process.env.REVIEW_MODEL !== undefined) console.log(Object.fromEntries([...met].sort()));
    // The test proves nothing if nothing was sent.
    expect(met.get('sent approved') ?? 0).toBeGreaterThan(5);
  },
  within(60),
);

const MLRO = SIGN_INS[0]!.by;
/** A run of a version that gives its approvers two business days, as far as it gets without them. */
async function waiting() {
  const subjects: string[] = [];
  const world = reviewWorld(
    folder,
    answering(() => false),
    ({ raw }) => {
      subjects.push(/^Subject: ([^:\r\n]*)/m.exec(raw)?.[1] ?? '');
      return undefined;
    },
  );
  const { trigger, reviews } = world.process();
  const { frozen } = VERSIONS.find(({ frozen: { definition } }) => definition.approval?.otherwise === 'cancel')!;
  const { record } = await trigger({
    ...frozen,
    slot: { trigger: 't' },
    trigger: 'on_demand',
    priority: 'on_demand',
    deliver: true,
    by: 'ops',
  });
  await world.settle();
  const open = async () => {
    const found: string[] = [];
    for await (const { run: each } of reviews.listOpen()) found.push(each.id);
    return found;
  };
  return { world, id: record.id, subjects, open, state: () => world.records.get(record.id)?.state };
}

test('a run that is not approved in time is cancelled, its owner is informed, and its review is closed', async () => {
  const { world, id, subjects, open, state } = await waiting();
  expect([state(), await open()]).toEqual(['awaiting_approval', [id]]);
  // Monday to Wednesday at midnight.
  world.advance(61 * HOUR_MS);
  await world.settle();
  expect(state()).toBe('awaiting_approval');
  world.advance(2 * HOUR_MS);
  await world.settle();
  expect([state(), await open()]).toEqual(['cancelled', []]);
  expect(subjects.sort()).toEqual(['Approval needed', 'Approval needed', 'Cancelled'].sort());
});

test('after a loss of Redis the record and version of a run come back, and an approval that never reached the queue counts', async () => {
  const { world, id, state } = await waiting();
  world.flushRedis();
  await world.settle();
  expect(state()).toBe('awaiting_approval');
  const { reviews, definitions, service } = world.process();
  expect(await definitions.get(world.records.get(id)?.digest ?? '')).toBeDefined();
  const { content } = (await loadReview(reviews, { id, org: 'acme', report: 'weekly' })).state;
  await service.approve(id, content ?? '', 'ok', MLRO);
  await world.settle();
  // The process dies once its event is in the archive.
  for (let at = 1; at < 40 && state() !== 'done'; at += 1) {
    await world
      .process(processLife(at))
      .service.approve(id, content ?? '', 'ok', SIGN_INS[2]!.by)
      .catch(() => {});
    await world.settle();
  }
  expect(state()).toBe('done');
});
