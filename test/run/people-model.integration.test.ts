import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Secret } from '../../src/base/secrets/secret.ts';
import { sha256 } from '../../src/base/sha256.ts';
import { reportFileSchema } from '../../src/compose/built-in-kinds.ts';
import { orgFileSchema } from '../../src/definitions/schema/org-settings.ts';
import { applyRetention } from '../../src/deliver/archive/retention.ts';
import { deliveryId, NOTICE_TARGET } from '../../src/deliver/ledger/ledger.ts';
import { smtpMailer } from '../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { loadReview } from '../../src/run/review/load-review.ts';
import { createCorrectionService } from '../../src/services/corrections/correction-service.ts';
import type { Reviewer } from '../../src/services/reviews/review-service.ts';
import { createSelectionService } from '../../src/services/selections/create-selection-service.ts';
import { createSwitchService } from '../../src/services/switches/switch-service.ts';
import { cases, within } from '../support/fuzz.ts';
import {
  type KnownReport,
  type KnownRun,
  MAY_DELEGATE,
  type Ordered,
  peopleOracle,
} from '../support/people-world/oracle.ts';
import { type ProcessLife, processLife } from '../support/review-world/killable.ts';
import { type AnsweringService, recordedAnswers } from '../support/review-world/service.ts';
import { reviewWorld } from '../support/review-world/world.ts';
import { type ScriptedSmtp, type SmtpAct, type SmtpScript, scriptedSmtp } from '../support/smtp-script.ts';
import { testDeployment } from '../support/test-deployment.ts';

const ORG = 'acme';
const PEOPLE = ['ann', 'cem', 'eve', 'dan', MAY_DELEGATE] as const;
/** First the addresses of the definitions, then those that people may add. */
const ADDRESSES = [
  'lead@acme.example',
  'board@acme.example',
  'cy@beta.example',
  'ana@acme.example',
  'bea@beta.example',
  'out@gamma.example',
];
const NAMED = ADDRESSES.slice(0, 3);
const DENIABLE = [...ADDRESSES.slice(0, 4), 'beta.example'];
const REPORTS: readonly KnownReport[] = [
  { report: 'plain', to: NAMED, approval: undefined },
  { report: 'one', to: NAMED.slice(0, 2), approval: { by: ['ann'], need: 1 } },
  { report: 'two', to: NAMED, approval: { by: ['ann', 'cem', 'eve'], need: 2 } },
];
const SELECTED = ['retry', 'resend', 'sent', 'release', 'cancel'] as const;

const SETTINGS = {
  ...orgFileSchema.parse({
    org: 101,
    api_key: { env: 'ACME_KEY' },
    timezone: 'Europe/Zurich',
    recipients: { domains: ['acme.example', 'beta.example'] },
    people: Object.fromEntries(PEOPLE.map((name) => [name, { name, tokens: [name] }])),
  }),
  id: ORG,
};
const frozenOf = ({ report, to, approval }: KnownReport) => ({
  definition: {
    ...reportFileSchema.parse({
      version: 1,
      title: 'KPIs',
      owner: 'owner@acme.example',
      period: 'previous_week',
      sections: [{ id: 'onboarding', metrics: ['profiles.created'] }],
      outputs: [{ format: 'csv' }],
      deliveries: [{ email: { to, attach: ['csv'] } }],
      ...(approval && { approval: { ...approval, may_delegate: [MAY_DELEGATE] } }),
    }),
    org: ORG,
    report,
    digest: sha256(report),
  },
  settings: SETTINGS,
});

type Command =
  | { readonly do: 'trigger'; readonly report: number; readonly who: number }
  | { readonly do: 'comment' | 'approve' | 'open'; readonly run: number; readonly who: number }
  | { readonly do: 'delegate'; readonly run: number; readonly who: number; readonly from: number; readonly to: number }
  | {
      readonly do: 'send';
      readonly run: number;
      readonly to: number;
      readonly replaces: number | null;
      readonly who: number;
    }
  | {
      readonly do: 'decide';
      readonly run: number;
      readonly to: number;
      readonly who: number;
      readonly admitted: boolean;
    }
  | { readonly do: 'resolve'; readonly run: number; readonly to: number; readonly as: 'resend' | 'sent' }
  | { readonly do: 'retry' | 'cancel'; readonly run: number }
  | { readonly do: 'preview'; readonly action: (typeof SELECTED)[number] }
  | { readonly do: 'decide preview'; readonly which: number }
  | { readonly do: 'deny' | 'allow'; readonly name: number }
  | { readonly do: 'refuse' | 'cut off'; readonly of: number }
  | { readonly do: 'stop' | 'unstop' | 'hold' | 'unhold'; readonly all: boolean }
  | { readonly do: 'retain' | 'lose Redis' | 'sweep' }
  | { readonly do: 'work'; readonly at: number | null }
  /** Runs while the next message is being sent, before its body. */
  | { readonly do: 'meanwhile'; readonly command: Command }
  /** The process that performs the command dies at this step. */
  | { readonly do: 'dying'; readonly at: number; readonly command: Command };

const run = fc.nat({ max: 5 });
const who = fc.nat({ max: PEOPLE.length - 1 });
const to = fc.nat({ max: ADDRESSES.length - 1 });
const one = <T extends string>(what: T) => fc.constant(what);
const decision: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: one('approve'), run, who: fc.constantFrom(0, 0, 1, 1, 2, 3, 4) }) },
  { weight: 1, arbitrary: fc.record({ do: one('comment'), run, who }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: one('send'),
      run,
      to: fc.constantFrom(3, 3, 4, 5, 0, 2),
      replaces: fc.constantFrom(null, null, 0, 1, 3),
      who,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: one('decide'),
      run,
      to: fc.constantFrom(3, 4),
      who,
      admitted: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: one('delegate'), run, who, from: fc.nat({ max: 3 }), to: fc.constantFrom(3, 3, 4, 1) }),
  },
  { weight: 3, arbitrary: fc.record({ do: one('open'), run, who }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('retry' as const, 'retry' as const, 'cancel' as const), run }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: one('resolve'),
      run,
      to,
      as: fc.constantFrom('resend' as const, 'resend' as const, 'sent' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: one('preview'), action: fc.constantFrom(...SELECTED) }) },
  { weight: 2, arbitrary: fc.record({ do: one('decide preview'), which: fc.nat({ max: 3 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('deny' as const, 'allow' as const),
      name: fc.nat({ max: DENIABLE.length - 1 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('stop' as const, 'unstop' as const, 'unstop' as const, 'hold' as const, 'unhold' as const),
      all: fc.boolean(),
    }),
  },
);
const step: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: decision },
  {
    weight: 6,
    arbitrary: fc.record({ do: one('work'), at: fc.option(fc.integer({ min: 1, max: 120 }), { freq: 2 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: one('dying'), at: fc.integer({ min: 1, max: 40 }), command: decision }) },
  { weight: 2, arbitrary: fc.record({ do: one('meanwhile'), command: decision }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('refuse' as const, 'cut off' as const), of: to }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('retain' as const, 'lose Redis' as const, 'sweep' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ do: one('trigger'), report: fc.nat({ max: REPORTS.length - 1 }), who }) },
);
const WORK: Command = { do: 'work', at: null };
const opening = fc.array(
  fc.record({
    report: fc.nat({ max: REPORTS.length - 1 }),
    who: fc.constantFrom(3, 4, 4, 0),
    refused: fc.option(fc.nat({ max: 2 })),
    approved: fc.boolean(),
  }),
  { minLength: 1, maxLength: 2 },
);
const sequence = fc
  .tuple(opening, fc.array(step, { minLength: 8, maxLength: 24, size: 'max' }))
  .map(([runs, steps]): readonly Command[] => [
    ...runs.flatMap(({ refused, approved, ...each }, index): readonly Command[] => [
      { do: 'trigger', ...each },
      ...(refused === null ? [] : [{ do: 'refuse' as const, of: refused }]),
      WORK,
      ...(approved ? [0, 1].map((by) => ({ do: 'approve' as const, run: index, who: by })) : []),
      ...(approved ? [WORK] : []),
    ]),
    ...steps,
  ]);

/** A run that a deputy approved and that was sent to one more person, and its correction. */
const ALL_POINTS: readonly Command[] = [
  { do: 'trigger', report: 1, who: 4 },
  WORK,
  { do: 'delegate', run: 0, who: 0, from: 0, to: 3 },
  { do: 'approve', run: 0, who: 3 },
  { do: 'refuse', of: 1 },
  WORK,
  { do: 'send', run: 0, to: 3, replaces: 1, who: 4 },
  { do: 'decide', run: 0, to: 3, who: 0, admitted: true },
  WORK,
  { do: 'open', run: 0, who: 4 },
  WORK,
  { do: 'approve', run: 1, who: 0 },
  { do: 'deny', name: 0 },
  WORK,
];
const CORRECTED: readonly Command[] = [
  { do: 'trigger', report: 0, who: 4 },
  { do: 'refuse', of: 1 },
  WORK,
  { do: 'open', run: 0, who: 4 },
  { do: 'refuse', of: 1 },
  { do: 'stop', all: true },
  WORK,
  WORK,
  { do: 'unstop', all: true },
  { do: 'meanwhile', command: { do: 'stop', all: false } },
  WORK,
  { do: 'hold', all: false },
  { do: 'retain' },
  WORK,
];
/**
 * Several deliveries of a run fail. One goes to another address, and the rest are decided together; an outdated preview
 * decides nothing.
 */
const TOGETHER: readonly Command[] = [
  { do: 'trigger', report: 0, who: 4 },
  { do: 'refuse', of: 1 },
  { do: 'refuse', of: 2 },
  { do: 'cut off', of: 0 },
  WORK,
  { do: 'preview', action: 'resend' },
  { do: 'send', run: 0, to: 3, replaces: 1, who: 3 },
  WORK,
  { do: 'refuse', of: 2 },
  { do: 'decide preview', which: 0 },
  WORK,
  { do: 'preview', action: 'sent' },
  { do: 'resolve', run: 0, to: 0, as: 'resend' },
  { do: 'decide preview', which: 0 },
  { do: 'deny', name: 0 },
  WORK,
];

/**
 * Whoever triggered the run cannot be a deputy, a deputy cannot name another, and an approver and their deputy count
 * once.
 */
const DEPUTIES: readonly Command[] = [
  { do: 'trigger', report: 1, who: 3 },
  WORK,
  { do: 'delegate', run: 0, who: 0, from: 0, to: 3 },
  { do: 'approve', run: 0, who: 3 },
  WORK,
  { do: 'trigger', report: 2, who: 4 },
  WORK,
  { do: 'delegate', run: 1, who: 0, from: 0, to: 3 },
  { do: 'delegate', run: 1, who: 3, from: 3, to: 4 },
  { do: 'approve', run: 1, who: 0 },
  { do: 'approve', run: 1, who: 3 },
  { do: 'approve', run: 1, who: 4 },
  WORK,
];

let folder: string;
let answering: (truncated: () => boolean) => AnsweringService;
let smtp: ScriptedSmtp;
/** How the mail server behaves for the current sequence. */
let answers: {
  readonly RCPT: () => SmtpAct | undefined;
  readonly DATA: () => SmtpAct | undefined;
  readonly dot: () => SmtpAct | undefined;
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-people-model-'));
  answering = await recordedAnswers();
  smtp = await scriptedSmtp({
    get RCPT() {
      return answers.RCPT();
    },
    get DATA() {
      return answers.DATA();
    },
    get dot() {
      return answers.dot();
    },
  } as SmtpScript);
});
afterAll(async () => {
  await smtp.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a sequence and judges every message that the mail server accepts. */
async function play(commands: readonly Command[]) {
  const deployment = await testDeployment();
  const archiveFolder = join(deployment.folder, 'archive');
  const ordered: Ordered = {
    runs: new Map(),
    stopped: false,
    denied: new Set(),
    replaced: new Set(),
    added: new Set(),
    resent: new Map(),
    corrected: new Set(),
  };
  const stops = new Set<string>();
  const holds = new Set<string>();
  const oracle = peopleOracle(archiveFolder, ordered);
  const { count } = oracle;
  const refused = new Set<string>();
  const cutOff = new Set<string>();
  const previews: string[] = [];
  let meanwhile: Command | undefined;
  let correctedBefore = new Set<string>();
  const judged = new Map<object, SmtpAct | undefined>();
  const talk = () => smtp.conversations.at(-1);
  const recipient = (): string =>
    talk()
      ?.commands.flatMap((line) => /^RCPT TO:<([^>]+)>/.exec(line)?.[1] ?? [])
      .at(-1) ?? '';
  answers = {
    RCPT: () =>
      refused.size === 0
        ? undefined
        : { say: '550 5.1.1 no such user', only: new RegExp(`<(${[...refused].join('|')})>`) },
    DATA: () => {
      correctedBefore = new Set(ordered.corrected);
      const command = meanwhile;
      meanwhile = undefined;
      if (command === undefined) return undefined;
      count(`${command.do} while a message leaves`);
      return {
        meanwhile: (resume) =>
          void attempt(command).then(resume, (thrown: unknown) => {
            failure ??= thrown;
            resume();
          }),
      };
    },
    dot: () => {
      const now = talk();
      if (now === undefined) return undefined;
      if (!judged.has(now)) {
        const to = recipient();
        oracle.onMail({ to, raw: now.body.toString('latin1') }, (id) => !correctedBefore.has(id));
        judged.set(now, cutOff.has(to) ? 'FIN' : undefined);
      }
      return judged.get(now);
    },
  };
  let failure: unknown;
  const world = reviewWorld(
    folder,
    answering(() => false),
    () => undefined,
    {
      deployment,
      mailer: smtpMailer(new Secret(smtp.url)),
    },
  );
  world.orgs.set(ORG, SETTINGS);
  const person = (index: number): Reviewer => {
    const name = PEOPLE[index] ?? 'ops';
    return { name, kind: 'token', subject: `token:${name}` };
  };
  const idOf = (index: number): string => [...ordered.runs.keys()][index % ordered.runs.size] ?? '';
  const at = (index: number): KnownRun | undefined => ordered.runs.get(idOf(index));
  const author = { by: 'ops', reason: 'r' };
  let triggers = 0;

  const perform = async (command: Command, life: ProcessLife = processLife()): Promise<void> => {
    const here = world.process(life);
    const switches = createSwitchService(here, here.decisions);
    const selections = createSelectionService(here, here.decisions);
    switch (command.do) {
      case 'trigger': {
        const report = REPORTS[command.report] ?? REPORTS[0]!;
        triggers += 1;
        const { record } = await here.trigger({
          ...frozenOf(report),
          slot: { trigger: `t${triggers}` },
          trigger: 'on_demand',
          priority: 'on_demand',
          deliver: true,
          by: person(command.who).name,
          bySubject: person(command.who).subject,
        });
        ordered.runs.set(record.id, { report, by: person(command.who).name, corrects: undefined });
        return;
      }
      case 'comment':
        await here.service.comment(idOf(command.run), 'onboarding', 'Fewer than in spring.', person(command.who));
        return count('comment');
      case 'approve': {
        const id = idOf(command.run);
        const { state } = await loadReview(here.reviews, {
          id,
          org: ORG,
          report: at(command.run)?.report.report ?? '',
        });
        await here.service.approve(id, state.content ?? 'f'.repeat(64), 'ok', person(command.who));
        return count('approve');
      }
      case 'delegate': {
        const [from = '', deputy = ''] = [PEOPLE[command.from], PEOPLE[command.to]];
        await here.service.delegate(idOf(command.run), { from, to: deputy, reason: 'away' }, person(command.who));
        return count('delegate');
      }
      case 'send': {
        const id = idOf(command.run);
        const [address = '', by] = [ADDRESSES[command.to], person(command.who)];
        const replaces = command.replaces === null ? undefined : ADDRESSES[command.replaces];
        // A process that dies may have got this far.
        ordered.added.add(`${id} ${address}`);
        const { waits } = await here.recipients.send(id, { to: address, replaces }, 'r', by);
        if (waits === null && replaces !== undefined) ordered.replaced.add(`${id} ${replaces}`);
        return count(`send ${waits === null ? 'queued' : 'waits'}`);
      }
      case 'decide': {
        const id = idOf(command.run);
        const delivery = deliveryId(id, '0-email', ADDRESSES[command.to] ?? '');
        await here.recipients.decide(id, delivery, command.admitted, 'r', person(command.who));
        return count('decide');
      }
      case 'open': {
        const corrects = idOf(command.run);
        const known = at(command.run);
        if (known === undefined) return;
        const by = person(command.who);
        const ref = { id: corrects, org: ORG, report: known.report.report };
        const service = createCorrectionService(here, async () => false);
        const { record } = await service.open(ref, { reason: 'wrong pack' }, { by: by.name, subject: by.subject });
        ordered.corrected.add(corrects);
        ordered.runs.set(record.id, { report: known.report, by: record.by ?? '', corrects });
        return count('open');
      }
      case 'resolve': {
        const id = idOf(command.run);
        const address = ADDRESSES[command.to] ?? '';
        const delivery = deliveryId(id, '0-email', address);
        const row = await deployment.ledger.find(delivery);
        const isUncertain = row?.state === 'unknown' || row?.state === 'sending';
        const key = `${id} ${address}`;
        if (command.as === 'resend' && isUncertain) ordered.resent.set(key, (ordered.resent.get(key) ?? 0) + 1);
        await here.decisions.resolve(delivery, command.as, author);
        return count(command.as);
      }
      case 'retry':
      case 'cancel':
        await here.decisions[command.do](idOf(command.run), author);
        return count(command.do);
      case 'preview': {
        const { digest } = await selections.preview({ action: command.action, filter: { org: ORG } }, [ORG]);
        previews.unshift(digest);
        return;
      }
      case 'decide preview': {
        const { outcomes } = await selections.decide(previews[command.which] ?? 'f'.repeat(64), author, [ORG]);
        for (const _ of outcomes) count('decided together');
        return;
      }
      case 'deny': {
        const name = DENIABLE[command.name] ?? '';
        await here.denials.deny([{ name, reason: undefined }], author);
        ordered.denied.add(name);
        return count('deny');
      }
      case 'allow': {
        const name = DENIABLE[command.name] ?? '';
        // A process that dies may have got this far.
        ordered.denied.delete(name);
        await here.denials.allow([name], author);
        return;
      }
      case 'stop':
      case 'hold': {
        const org = command.all ? null : ORG;
        const target = { kind: command.do, org };
        await switches.set(target, author);
        (command.do === 'stop' ? stops : holds).add(`${org}`);
        ordered.stopped = stops.size > 0;
        return count(command.do);
      }
      case 'unstop':
      case 'unhold': {
        const org = command.all ? null : ORG;
        const kind = command.do === 'unstop' ? 'stop' : 'hold';
        (kind === 'stop' ? stops : holds).delete(`${org}`);
        ordered.stopped = stops.size > 0;
        await switches.release({ kind, org }, author);
        return;
      }
      case 'retain': {
        if (holds.size === 0) return;
        const files = async () => (await readdir(archiveFolder, { recursive: true })).length;
        const before = await files();
        await applyRetention({
          storage: deployment.storage,
          daysOf: () => 1,
          isHeld: here.switches.isHeld,
          ledger: deployment.ledger,
          isOpen: async () => false,
          clock: { now: () => here.clock.now() + 9e9, sleep: async () => {} },
          log: here.log,
          signal: new AbortController().signal,
        });
        if ((await files()) < before) oracle.violations.push('the retention deleted files during a legal hold');
        return count('retention during a hold');
      }
      case 'lose Redis': {
        const keys = await deployment.redis.keys(`${deployment.prefix}:*`);
        const lost = keys.filter((key) => /:(deliveries|switches|denied)/.test(key));
        if (lost.length > 0) await deployment.redis.del(lost);
        return;
      }
      case 'sweep':
        return here.sweep();
      case 'refuse':
      case 'cut off': {
        const set = command.do === 'refuse' ? refused : cutOff;
        const of = ADDRESSES[command.of] ?? '';
        if (!set.delete(of)) set.add(of);
        return;
      }
      case 'work': {
        const life = processLife(command.at ?? undefined);
        const before = oracle.met.get('sent') ?? 0;
        await world.work(life);
        if (life.isDead()) count('killed at work');
        if (ordered.stopped && before === (oracle.met.get('sent') ?? 0)) count('worked while stopped');
        return;
      }
      case 'meanwhile':
        meanwhile = command.command;
        return;
      case 'dying': {
        const dying = processLife(command.at);
        await attempt(command.command, dying);
        if (dying.isDead()) count('killed');
      }
    }
  };
  /** Refusals are expected; a defect is not. */
  const attempt = async (command: Command, life?: ProcessLife): Promise<void> => {
    // So that no two runs have the same time.
    world.advance(1_000);
    try {
      await perform(command, life);
    } catch (thrown) {
      if (life?.isDead() !== true && world.codeOf(thrown) === 'internal.defect') throw thrown;
    }
  };
  for (const command of commands) await attempt(command);
  meanwhile = undefined;
  for (const all of [true, false]) await attempt({ do: 'unstop', all });
  await world.settle();
  if (failure !== undefined) throw failure;
  for (const id of ordered.runs.keys()) {
    const rows = await deployment.ledger.list(id);
    for (const { target, state } of rows) if (target !== NOTICE_TARGET && state === 'skipped') count('skipped');
  }
  return oracle;
}

test(
  'whatever people send, correct, stop, deny, delegate and decide together, nobody gets an edition twice or by accident',
  async () => {
    const met = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(sequence, async (commands) => {
        const oracle = await play(commands);
        for (const [what, times] of oracle.met) met.set(what, (met.get(what) ?? 0) + times);
        expect(oracle.violations).toEqual([]);
      }),
      { ...cases(40), examples: [[ALL_POINTS], [CORRECTED], [TOGETHER], [DEPUTIES]] },
    );
    if (process.env.PEOPLE_MODEL !== undefined) console.log(Object.fromEntries([...met].sort()));
    // The test proves nothing about what never happened.
    for (const what of [
      'sent',
      'sent with approval',
      'added',
      'added with approval',
      'marked',
      'unmarked',
      'voted as deputy',
      'skipped',
      'killed',
      'killed at work',
      'decided together',
      'retention during a hold',
      'worked while stopped',
    ])
      expect(met.get(what) ?? 0, what).toBeGreaterThan(0);
  },
  within(90),
);
