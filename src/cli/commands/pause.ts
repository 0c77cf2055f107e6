import { pauseView } from '../../admin/api/schemas.ts';
import type { AppContext } from '../../base/context.ts';
import { DocketError } from '../../base/error.ts';
import { loadDefinitions, reportDiagnostics, requireReport } from '../../compose/built-in-kinds.ts';
import { closestMatches } from '../../definitions/diagnostics/suggest.ts';
import { isInvalidOrg } from '../../definitions/load/last-known-good.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { Pause, PauseTarget } from '../../queue/schedules/pauses.ts';
import type { RunStore } from '../../run/run-record.ts';
import { RETRYABLE_STATES } from '../../services/deliveries/decision-rules.ts';
import type { Deployment } from '../../services/deployment/deployment.ts';
import { pauseSchedules, resumeSchedules } from '../../services/runs/pause-schedules.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { type ActorFlags, readActor } from '../options/actor.ts';
import { withDeployment } from '../redis.ts';
import { type LocalTimes, timesFor } from '../terminal/local-times.ts';
import type { NextCommand } from '../terminal/next-commands.ts';
import { type Column, createPrinter } from '../terminal/print.ts';

/** Digits of a run's id in a command. */
const RUN_DIGITS = 8;

interface PauseFlags {
  readonly reason?: string;
  readonly by?: string;
  readonly history?: boolean;
  readonly wide?: boolean;
  readonly json?: boolean;
}

type PauseRequest = Pick<Pause, 'org' | 'report' | 'who' | 'why'>;

export async function pause(target: string | undefined, flags: PauseFlags, io: CommandIo): Promise<void> {
  const context = await createContext(io);
  const request = target === undefined ? undefined : await readPauseRequest(target, flags, context);
  if (request === undefined && (flags.reason !== undefined || flags.by !== undefined)) {
    throw new DocketError('usage.invalid', 'No target given.', {
      expected: 'docket pause <org>[/<report>] --reason "…"',
      next: 'See docket pause --help.',
    });
  }
  await withDeployment(context, async (deployment) => {
    if (request === undefined) return list(deployment, flags, io);
    const actor = { by: request.who, reason: request.why };
    const active = await pauseSchedules(request, actor, deployment, { recordUnchanged: true });
    printPause(active, request, flags, timesFor(io, context.clock.now()), io);
  });
}

async function readPauseRequest(
  target: string,
  { reason, by, history }: PauseFlags,
  { config }: AppContext,
): Promise<PauseRequest> {
  if (reason === undefined || history) {
    throw new DocketError('usage.invalid', history ? '--history has no target.' : 'A pause needs a reason.', {
      where: history ? '--history' : '--reason',
      expected: 'docket pause <org>[/<report>] --reason "…"',
      next: 'See docket pause --help.',
    });
  }
  const named = parsePauseTarget(target);
  assertPauseTargetExists(await loadDefinitions(config.DOCKET_JOBS), named);
  const actor = readActor({ reason, ...(by === undefined ? {} : { by }) });
  return { ...named, who: actor.by, why: actor.reason };
}

function printPause(
  active: Pause,
  { who, why }: PauseRequest,
  { json }: PauseFlags,
  times: LocalTimes,
  io: CommandIo,
): void {
  const print = createPrinter(io);
  if (json) {
    print.printJson({ pause: pauseView(active) });
    return;
  }
  print.printText(formatPause(active, times).join('\n'));
  if (active.who !== who || active.why !== why) {
    print.printStatus('It was already paused. That pause is unchanged: resume it first to give another reason.');
  }
}

async function list(
  { pauses, runs, clock }: Deployment,
  { history, wide, json }: PauseFlags,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const now = clock.now();
  const times = timesFor(io, now, { wide });
  if (history) {
    const entries = (await pauses.history(1_000)).map(({ org, at, ...entry }) => ({
      at: new Date(at).toISOString(),
      organization: org,
      ...entry,
    }));
    if (json) return print.printJson({ history: entries });
    if (entries.length === 0) return print.printLine('No pauses.');
    const row = ({ at, what, organization, report, who, why }: (typeof entries)[number]) =>
      [
        { exact: at, brief: times.relative(Date.parse(at)) },
        what,
        report === null ? organization : `${organization}/${report}`,
        who,
        why,
      ] as const;
    return print.printTable(HISTORY_COLUMNS, entries.map(row), { wide });
  }
  const all = await pauses.list();
  if (json) return print.printJson({ paused: all.map(pauseView) });
  if (all.length === 0) return print.printLine('Nothing is paused.');
  print.printText(all.map((active) => formatPause(active, times).join('\n')).join('\n\n'));
  print.printNext([...(await retryCommands(all, runs)), ...resumeCommands(all)]);
}

const HISTORY_COLUMNS: readonly Column[] = [
  { name: 'UTC', briefName: 'WHEN', whenNarrow: 'keep' },
  { name: 'WHAT', whenNarrow: 'keep' },
  { name: 'OF', cut: 'report' },
  { name: 'WHO', cut: 'middle' },
  { name: 'WHY' },
];

/**
 * Commands to retry the runs whose API key was refused: a successful retry ends the pause. A run that was already
 * retried may be running.
 */
async function retryCommands(
  pauses: readonly Pick<Pause, 'org' | 'run'>[],
  runs: RunStore,
): Promise<readonly NextCommand[]> {
  const commands: NextCommand[] = [];
  for (const { org, run } of pauses) {
    const record = run === null ? undefined : await runs.get(run);
    if (record === undefined || !RETRYABLE_STATES.includes(record.state)) continue;
    commands.push({
      command: `docket runs retry ${record.id.slice(0, RUN_DIGITS)} --reason "…"`,
      why: `${org}, once its API key is replaced: repeats the run that failed, and ends the pause`,
    });
  }
  return commands;
}

/** The commands that end each pause. */
export const resumeCommands = (pauses: readonly Pick<Pause, 'org' | 'report'>[]): readonly NextCommand[] =>
  pauses.map(({ org, report }) => ({
    command: `docket resume ${report === null ? org : `${org}/${report}`} --reason "…"`,
    why: 'ends the pause; missed slots are caught up according to catch_up',
  }));

export async function resume(
  target: string,
  flags: ActorFlags & { readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const { by, reason } = readActor(flags);
  const named = parsePauseTarget(target);
  const { ended, others, next } = await withDeployment(context, async (deployment) => {
    const ended = await resumeSchedules(named, { by, reason }, deployment);
    // A report without a definition can still be paused, so the name is checked only if no pause was ended.
    if (ended.length === 0) assertPauseTargetExists(await loadDefinitions(context.config.DOCKET_JOBS), named);
    const others = (await deployment.pauses.list()).filter(
      ({ org, report }) => org === named.org && (named.report === null || report === null || report === named.report),
    );
    // Resuming does not repeat the failed run.
    const next = await retryCommands(ended, deployment.runs);
    return { ended, others, next };
  });
  if (flags.json) {
    return print.printJson({
      organization: named.org,
      report: named.report,
      lifted: ended.map(pauseView),
      paused: others.map(pauseView),
    });
  }
  const times = timesFor(io, context.clock.now());
  if (ended.length === 0) print.printLine(`${target} is not paused.`);
  for (const { since, who, why } of ended) {
    print.printText(`${target} resumes within a minute. It was paused since ${times.exact(since)} by ${who}: ${why}`);
  }
  for (const { org, report, who, why } of others) {
    print.printText(`${report === null ? org : `${org}/${report}`} stays paused by ${who}: ${why}`);
  }
  print.printNext(next);
}

/** `<org>` or `<org>/<report>`. */
function parsePauseTarget(text: string): PauseTarget {
  const [org = '', ...rest] = text.split('/');
  return { org, report: rest.length === 0 ? null : rest.join('/') };
}

/**
 * Throws `definition.not_found` with similar names. A report with an invalid definition exists: its last good version
 * is still scheduled, and an operator may have to pause it.
 */
function assertPauseTargetExists(jobs: Definitions, { org, report }: PauseTarget): void {
  if (report !== null) {
    const name = `${org}/${report}`;
    if (reportDiagnostics(jobs, name).length === 0) requireReport(jobs, name);
    return;
  }
  if (jobs.orgs.has(org) || isInvalidOrg(jobs.folder, org, jobs.diagnostics)) return;
  const known = [...jobs.orgs.keys()];
  const similar = closestMatches(org, known, 3);
  throw new DocketError('definition.not_found', `There is no organization ${JSON.stringify(org)}.`, {
    expected:
      known.length === 0
        ? `an organization in ${jobs.folder}`
        : `one of ${(similar.length > 0 ? similar : known.slice(0, 20)).join(', ')}`,
    next: '`docket pause` lists what is paused.',
  });
}

/** Two lines: target, start, author and reason; then how the pause ends. */
export function formatPause(
  { org, report, who, why, since, key }: Pause,
  times: LocalTimes,
): readonly [string, string] {
  const name = report === null ? org : `${org}/${report}`;
  const resume = `\`docket resume ${name}\``;
  return [
    `${name} is paused since ${times.exact(since)} by ${who}: ${why}`,
    `Its slots wait until ${key === null ? resume : `the API key changes, or ${resume}`}.`,
  ];
}
