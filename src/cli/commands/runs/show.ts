import { deliveryView } from '../../../admin/api/schemas.ts';
import { DocketError, type ErrorJson } from '../../../base/error.ts';
import type { Manifest } from '../../../deliver/archive/archive.ts';
import { type RunRecord, STAGES } from '../../../run/run-record.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { assertOrgWithReport } from '../../options/option-parsers.ts';
import { findLastRunId, LAST_RUN } from '../../options/run-id.ts';
import { createPrinter } from '../../terminal/print.ts';
import { type ArchivedRunDetails, type LoadedRun, loadRunWithArchive } from './load-run.ts';

interface ShowFlags {
  readonly org?: string;
  readonly report?: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

export async function show(text: string, flags: ShowFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  assertFiltersOfLast(text, flags);
  const context = createContext(io);
  const run = await loadRunWithArchive(context, text === LAST_RUN ? await findLastRunId(context, flags) : text, io);
  if (flags.json) {
    const { id, record, rows, held, archived } = run;
    return print.printJson({
      id,
      record: record ?? null,
      deliveries: rows.map(deliveryView),
      folder: archived?.location ?? null,
      manifest: archived?.manifest ?? null,
      receipts: archived?.receipts ?? [],
      attempts: archived?.attempts ?? [],
      release: archived?.release ?? null,
      held: held ?? null,
    });
  }
  print.printText(formatRun(run).join('\n'));
}

function assertFiltersOfLast(text: string, flags: ShowFlags): void {
  assertOrgWithReport(flags);
  if (text === LAST_RUN || flags.org === undefined) return;
  throw new DocketError('usage.invalid', 'The option requires the run `last`.', {
    where: '--org',
    expected: 'docket runs show last --org <org>',
    next: 'Leave --org and --report out: an id names one run.',
  });
}

const formatInstantOrPending = (at: number | null): string => (at === null ? 'not yet' : new Date(at).toISOString());

function formatRun({ id, record, rows, held, archived }: LoadedRun): string[] {
  const source = record ?? archived?.manifest;
  const { org = '', report = '', slot = '', period, digest = '' } = source ?? {};
  const line = (name: string, value: string): string => `  ${name.padEnd(11)} ${value}`;
  const decisions = rows.flatMap(({ recipient, decisions: made }) => made.map((one) => ({ ...one, recipient })));
  return [
    `${org}/${report} ${period?.label ?? ''}: ${record === undefined ? 'only archived, Redis has no record' : record.state.replaceAll('_', ' ')}`,
    line('run', id),
    line('slot', slot),
    line('period', period === undefined ? '' : `${period.from} to ${period.to} (${period.timezone})`),
    line('definition', digest),
    ...(record === undefined ? [] : timesOf(record).map(([name, value]) => line(name, value))),
    ...(archived === undefined ? ['', 'No files in the archive.'] : manifestLines(archived)),
    ...(held === undefined ? [] : releaseLines(id, held)),
    '',
    'Deliveries:',
    ...deliveryLines({ rows, archived }),
    ...section('Decisions:', [
      ...(record?.reopened ?? releasesOf(archived)).map(
        ({ what, by, reason, at }) => `  ${formatInstantOrPending(at)}  ${what}, by ${by}: ${reason}`,
      ),
      ...decisions.map(
        ({ to, by, reason, at, recipient }) =>
          `  ${formatInstantOrPending(at)}  ${recipient} ${to === 'sent' ? 'declared sent' : 'to be sent again'}, by ${by}: ${reason}`,
      ),
    ]),
    ...(record?.error ? section('Error:', errorLines(record.error)) : []),
  ];
}

const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', heading, ...lines];

const releasesOf = (archived: ArchivedRunDetails | undefined) =>
  archived?.release === undefined ? [] : [{ what: 'release', ...archived.release }];

function timesOf(record: RunRecord): (readonly [string, string])[] {
  const { calls } = record;
  return [
    [
      'trigger',
      `${record.trigger}${record.by === undefined ? '' : ` by ${record.by}`}, ${record.priority}${record.deliver ? '' : ', delivers nothing'}`,
    ],
    ['created', formatInstantOrPending(record.createdAt)],
    ['started', formatInstantOrPending(record.startedAt)],
    record.until === null
      ? ['finished', formatInstantOrPending(record.finishedAt)]
      : ['waits until', formatInstantOrPending(record.until)],
    ['tries', `${record.attempts}, started ${record.starts} times`],
    ['calls', `${calls.planned} planned, ${calls.made} made, ${calls.saved} cached`],
    ['took', formatTimings(record)],
    ...(record.cancel === null || record.state === 'cancelled'
      ? []
      : ([['cancel', `requested by ${record.cancel.by}: ${record.cancel.reason}`]] as const)),
  ];
}

function formatTimings({ timings, tokenWaitMs }: RunRecord): string {
  const stages = STAGES.flatMap((stage) => {
    const ms = timings[stage];
    return ms === undefined ? [] : `${stage} ${ms} ms`;
  });
  return [...stages, `waiting for tokens ${tokenWaitMs} ms`].join(', ');
}

function manifestLines({ location, manifest }: ArchivedRunDetails): string[] {
  return [
    ...section(`Files in ${location}:`, manifest.files.map(fileLine)),
    ...section(
      'Incomplete sections:',
      manifest.incomplete.map(({ section: where, text }) => `  ${where}: ${text}`),
    ),
    ...section(
      'Calls:',
      manifest.calls.map(
        ({ method, path, rows, asOf, correlationId }) =>
          `  ${method} ${path}: ${rows} rows, as of ${asOf ?? 'unknown'}, correlation ${correlationId ?? 'unknown'}`,
      ),
    ),
  ];
}

/** The recipients of a held run if it is released, and the command. */
function releaseLines(id: string, { recipients }: NonNullable<LoadedRun['held']>): string[] {
  const recipientsBy = (receives: boolean) => recipients?.filter((each) => each.receives === receives) ?? [];
  const line = ({ recipient, target, why }: ReturnType<typeof recipientsBy>[number]): string =>
    `  ${recipient} (${target})${why === null ? '' : `: ${why}`}`;
  const receiving = recipientsBy(true).map(line);
  return [
    ...section(
      'A release delivers to:',
      recipients === null
        ? ['  unknown: its definition is no longer stored']
        : receiving.length === 0
          ? ['  none']
          : receiving,
    ),
    ...section('A release does not deliver to:', recipientsBy(false).map(line)),
    '',
    `To release it: docket runs release ${id.slice(0, 8)} --reason "why"`,
  ];
}

const fileLine = ({ name, bytes, sha256 }: Manifest['files'][number]): string =>
  `  ${name}, ${bytes} bytes, SHA-256 ${sha256}`;

/** The ledger's rows; the archived receipts if the ledger has lost them. */
function deliveryLines({ rows, archived }: Pick<LoadedRun, 'rows' | 'archived'>): string[] {
  const known =
    rows.length > 0
      ? rows
      : (archived?.receipts ?? []).map(({ delivery, ...receipt }) => ({ id: delivery, ...receipt }));
  if (known.length === 0) return ['  none'];
  return known.map(
    ({ id, target, recipient, state, detail }) =>
      `  ${state.padEnd(8)} ${recipient} (${target}), delivery ${id}${detail === null ? '' : `: ${detail}`}`,
  );
}

const errorLines = ({ message, code, expected, got, where, next }: ErrorJson): string[] => [
  `  ${message} [${code}]`,
  ...Object.entries({ where, expected, got, next }).flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name}: ${value}`],
  ),
];
