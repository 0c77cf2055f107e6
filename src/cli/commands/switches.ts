import { stoppedRunView, switchView } from '../../admin/api/switches.ts';
import type { AppContext } from '../../base/context.ts';
import { DocketError } from '../../base/error.ts';
import { HOUR_MS } from '../../base/time.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { type DecisionContext, withDecisions } from '../../compose/decisions.ts';
import { closestMatches } from '../../definitions/diagnostics/suggest.ts';
import { redisProcessRegistry } from '../../queue/process-registry.ts';
import { DEFAULT_KEY_PREFIX } from '../../redis/keys.ts';
import {
  createSwitchService,
  type StoppedRun,
  type Switch,
  type SwitchKind,
  type SwitchService,
  switchScope,
} from '../../services/switches/switch-service.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { readActor } from '../options/actor.ts';
import { timesFor } from '../terminal/local-times.ts';
import { type Column, createPrinter, type Printer } from '../terminal/print.ts';

export interface SwitchFlags {
  readonly all?: boolean;
  readonly release?: boolean;
  readonly also?: readonly string[];
  readonly except?: readonly string[];
  readonly reason?: string;
  readonly by?: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

const RUN_DIGITS = 8;
const NAMES = { stop: 'A stop', hold: 'A legal hold' } as const;
const COLUMNS: readonly Column[] = [
  { name: 'RUN', whenNarrow: 'keep' },
  { name: 'REPORT', cut: 'report' },
  { name: 'PERIOD', whenNarrow: 'keep' },
  { name: 'AGE', whenNarrow: 'keep' },
  { name: 'AT RELEASE', whenNarrow: 'keep' },
];

/** Lists the switches, or sets or releases one. */
export async function switchCommand(
  kind: SwitchKind,
  org: string | undefined,
  flags: SwitchFlags,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const { all = false, release = false, reason } = flags;
  if (org === undefined && !all) {
    if (release || reason !== undefined) throw usage(kind, 'No target given.');
    return withDecisions(context, (opened) =>
      list(kind, createSwitchService(opened, opened.decisions), flags, context, io),
    );
  }
  if (org !== undefined && all) throw usage(kind, 'Give an organization or --all, not both.');
  if (reason === undefined) throw usage(kind, `${release ? 'A release' : NAMES[kind]} needs a reason.`);
  const actor = readActor({ reason, ...(flags.by === undefined ? {} : { by: flags.by }) });
  // A hold may outlive the definitions of its organization, so a release does not check the name. It does nothing if no
  // switch of that name is on.
  if (org !== undefined && !release) await assertOrg(org, context);
  const target = { kind, org: org ?? null };
  await withDecisions(
    context,
    async (opened) => {
      const service = createSwitchService(opened, opened.decisions);
      if (release) return releaseOne(service, target, actor, flags, context, io);
      const active = await service.set(target, actor);
      if (flags.json) print.printJson({ switch: switchView(active) });
      else print.printText(sentence(active, timesFor(io, context.clock.now()).exact(active.since)));
      if (active.by !== actor.by || active.reason !== actor.reason)
        print.printStatus('It was already in force and is unchanged: release it first to give another reason.');
      await warnOfOlder(opened, print);
    },
    { decides: true },
  );
}

async function list(
  kind: SwitchKind,
  service: SwitchService,
  { wide, json }: SwitchFlags,
  context: AppContext,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const { switches } = await service.read();
  const on = switches.filter((each) => each.kind === kind);
  const waiting = kind === 'stop' ? await service.waiting('*') : [];
  if (json) return print.printJson({ switches: on.map(switchView), waiting: waiting.map(stoppedRunView) });
  const times = timesFor(io, context.clock.now(), { wide });
  if (on.length === 0) print.printLine(kind === 'stop' ? 'Deliveries are not stopped.' : 'No legal hold is in force.');
  for (const each of on) print.printText(sentence(each, times.exact(each.since)));
  if (waiting.length > 0) printWaiting(waiting, context.clock.now(), print, wide);
  print.printNext(
    on.map(({ org }) => ({
      command: `docket ${kind} ${org ?? '--all'} --release --reason "…"`,
      why: kind === 'stop' ? 'sends the waiting runs that no newer run replaces' : 'retention and expiry continue',
    })),
  );
}

async function releaseOne(
  service: SwitchService,
  target: { readonly kind: SwitchKind; readonly org: string | null },
  actor: { readonly by: string; readonly reason: string },
  { also = [], except = [], json }: SwitchFlags,
  { clock }: AppContext,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const waiting = await service.waiting('*');
  const choice = { also: resolveIds(also, waiting), except: resolveIds(except, waiting) };
  const { released, continued, cancelled } = await service.release(target, actor, choice);
  if (json) {
    return print.printJson({
      released: released === null ? null : switchView(released),
      continued: continued.map(({ id }) => id),
      cancelled: cancelled.map(({ id }) => id),
    });
  }
  if (released === null) return print.printLine(`${NAMES[target.kind]} for ${switchScope(target)} is not in force.`);
  const since = timesFor(io, clock.now()).exact(released.since);
  print.printText(`Released: ${sentence(released, since)}`);
  if (target.kind === 'hold') return;
  const names = (runs: typeof continued) => runs.map(({ id }) => id.slice(0, RUN_DIGITS)).join(', ');
  print.printText(`${continued.length} waiting ${continued.length === 1 ? 'run continues' : 'runs continue'}.`);
  if (cancelled.length > 0)
    print.printText(
      `Cancelled, because a newer run replaces them or --except names them: ${names(cancelled)}. \`docket runs retry ID --reason "…"\` sends one anyway.`,
    );
}

/** The full ids of waiting runs, from their first digits. Throws `usage.invalid` if no waiting run matches. */
const resolveIds = (texts: readonly string[], waiting: readonly StoppedRun[]): readonly string[] =>
  texts.map((text) => {
    const found = waiting.filter(({ record: { id } }) => text.length >= RUN_DIGITS && id.startsWith(text));
    const [only] = found;
    if (only !== undefined && found.length === 1) return only.record.id;
    throw new DocketError(
      'usage.invalid',
      `No run, or more than one, that waits for the release has an id that begins with ${JSON.stringify(text)}.`,
      {
        expected: 'the id of a run that `docket stop` lists, or its first 8 digits or more',
        next: 'Nothing was released. `docket stop` lists what waits.',
      },
    );
  });

function printWaiting(waiting: readonly StoppedRun[], now: number, print: Printer, wide = false): void {
  print.printLine();
  print.printLine(`${waiting.length} ${waiting.length === 1 ? 'run waits' : 'runs wait'} for the release:`);
  print.printTable(
    COLUMNS,
    waiting.map(({ record: { id, org, report, period, createdAt }, replacedBy }) => [
      { exact: id, brief: id.slice(0, RUN_DIGITS) },
      `${org}/${report}`,
      period.label,
      ageText(now - createdAt),
      replacedBy === null ? 'sent' : `cancelled: ${replacedBy.why} by ${replacedBy.run.slice(0, RUN_DIGITS)}`,
    ]),
    { wide },
  );
}

/** Hours up to two days, then days: for runs that wait for days, hours do not matter. */
const ageText = (ms: number): string => {
  const hours = Math.floor(ms / HOUR_MS);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
};

const sentence = (on: Switch, since: string): string =>
  `${on.kind === 'stop' ? 'Deliveries are stopped' : 'A legal hold is in force'} for ${switchScope(on)} since ${since} by ${on.by}: ${on.reason}`;

/** Warns about processes of 0.2.0, which know neither switches nor the deny list. */
export async function warnOfOlder({ redis }: DecisionContext, print: Printer): Promise<void> {
  if (!(await redisProcessRegistry(redis, { prefix: DEFAULT_KEY_PREFIX, self: 'reader' }).hasOlder())) return;
  print.printStatus(
    'Warning: a process of Docket 0.2.0 or older runs here. It ignores stops, legal holds and the deny list: it sends and deletes. Stop it, or update it now.',
  );
}

async function assertOrg(org: string, { config }: AppContext): Promise<void> {
  const { orgs } = await loadDefinitions(config.DOCKET_JOBS);
  if (orgs.has(org)) return;
  const known = [...orgs.keys()];
  const similar = closestMatches(org, known, 3);
  throw new DocketError('definition.not_found', `There is no organization ${JSON.stringify(org)}.`, {
    expected: `one of ${(similar.length > 0 ? similar : known.slice(0, 20)).join(', ')}`,
    next: 'Use --all for all organizations.',
  });
}

const usage = (kind: SwitchKind, message: string): DocketError =>
  new DocketError('usage.invalid', message, {
    expected: `docket ${kind} <org>|--all [--release] --reason "…"`,
    next: `See docket ${kind} --help.`,
  });
