import type { Command } from 'commander';
import type { ErrorJson } from '../base/error.ts';
import type { Manifest } from '../deliver/archive.ts';
import { type RunRecord, STAGES } from '../run/record.ts';
import type { ArchivedRun, KeptRun } from './kept-run.ts';

export function addRunsShow(runs: Command): void {
  runs
    .command('show')
    .description('Show all that is known of a run: its record, its files, what became of each delivery')
    .argument('<id>', 'the run: its id, or the first 8 digits or more')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Reads the record and the ledger in Redis and the manifest in the archive; where one of them is lost, the other is shown.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Example:
  docket runs show 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e`,
    )
    .action(show);
}

async function show(text: string, flags: { readonly json?: boolean }): Promise<void> {
  const [{ readSurroundings }, { keptRun }, { deliveryView }, print] = await Promise.all([
    import('./surroundings.ts'),
    import('./kept-run.ts'),
    import('../admin/view.ts'),
    import('./print.ts'),
  ]);
  const kept = await keptRun(readSurroundings(), text);
  if (flags.json) {
    const { id, record, rows, held, archived } = kept;
    return print.printJson({
      id,
      record: record ?? null,
      deliveries: rows.map(deliveryView),
      folder: archived?.place ?? null,
      manifest: archived?.manifest ?? null,
      receipts: archived?.receipts ?? [],
      attempts: archived?.attempts ?? [],
      release: archived?.release ?? null,
      held: held ?? null,
    });
  }
  print.printLine(inWords(kept).join('\n'));
}

const instant = (at: number | null): string => (at === null ? 'not yet' : new Date(at).toISOString());

function inWords({ id, record, rows, held, archived }: KeptRun): string[] {
  const of = record ?? archived?.manifest;
  const { org = '', report = '', slot = '', period, digest = '' } = of ?? {};
  const line = (name: string, value: string): string => `  ${name.padEnd(11)} ${value}`;
  const decisions = rows.flatMap(({ recipient, decisions: made }) => made.map((one) => ({ ...one, recipient })));
  return [
    `${org}/${report} ${period?.label ?? ''}: ${record === undefined ? 'in the archive alone, Redis has no record' : record.state.replaceAll('_', ' ')}`,
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
        ({ what, by, reason, at }) => `  ${instant(at)}  ${what}, by ${by}: ${reason}`,
      ),
      ...decisions.map(
        ({ to, by, reason, at, recipient }) =>
          `  ${instant(at)}  ${recipient} ${to === 'sent' ? 'declared sent' : 'to be sent again'}, by ${by}: ${reason}`,
      ),
    ]),
    ...(record?.error ? section('Error:', errorLines(record.error)) : []),
  ];
}

const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', heading, ...lines];

const releasesOf = (archived: ArchivedRun | undefined) =>
  archived?.release === undefined ? [] : [{ what: 'release', ...archived.release }];

function timesOf(record: RunRecord): (readonly [string, string])[] {
  const { calls } = record;
  return [
    [
      'trigger',
      `${record.trigger}${record.by === undefined ? '' : ` by ${record.by}`}, ${record.priority}${record.deliver ? '' : ', delivers nothing'}`,
    ],
    ['created', instant(record.createdAt)],
    ['started', instant(record.startedAt)],
    record.until === null ? ['finished', instant(record.finishedAt)] : ['sleeps till', instant(record.until)],
    ['tries', `${record.attempts}, taken up ${record.starts} times`],
    ['calls', `${calls.planned} planned, ${calls.made} made, ${calls.saved} answered from the store`],
    ['took', tookOf(record)],
    ...(record.cancel === null || record.state === 'cancelled'
      ? []
      : ([['to stop', `told by ${record.cancel.by}: ${record.cancel.reason}`]] as const)),
  ];
}

function tookOf({ timings, tokenWaitMs }: RunRecord): string {
  const stages = STAGES.flatMap((stage) => {
    const ms = timings[stage];
    return ms === undefined ? [] : `${stage} ${ms} ms`;
  });
  return [...stages, `waiting for tokens ${tokenWaitMs} ms`].join(', ');
}

function manifestLines({ place, manifest }: ArchivedRun): string[] {
  return [
    ...section(`Files in ${place}:`, manifest.files.map(fileLine)),
    ...section(
      'Figures that are not whole:',
      manifest.incomplete.map(({ section: where, text }) => `  ${where}: ${text}`),
    ),
    ...section(
      'Calls:',
      manifest.calls.map(
        ({ method, path, rows, asOf, correlationId }) =>
          `  ${method} ${path}: ${rows} rows, as of ${asOf ?? 'not told'}, correlation ${correlationId ?? 'not told'}`,
      ),
    ),
  ];
}

/** Who receives a held run if it is released, and how that is done. */
function releaseLines(id: string, { recipients }: NonNullable<KeptRun['held']>): string[] {
  const of = (receives: boolean) => recipients?.filter((each) => each.receives === receives) ?? [];
  const line = ({ recipient, target, why }: ReturnType<typeof of>[number]): string =>
    `  ${recipient} (${target})${why === null ? '' : `: ${why}`}`;
  const receiving = of(true).map(line);
  return [
    ...section(
      'If it is released, it goes to:',
      recipients === null
        ? ['  not known: its definition is not kept any more']
        : receiving.length === 0
          ? ['  nobody']
          : receiving,
    ),
    ...section('It does not go to:', of(false).map(line)),
    '',
    `To release it: docket runs release ${id.slice(0, 8)} --reason "why"`,
  ];
}

const fileLine = ({ name, bytes, sha256 }: Manifest['files'][number]): string =>
  `  ${name}, ${bytes} bytes, SHA-256 ${sha256}`;

/** As the ledger has them; as the archive has them where the ledger has lost them. */
function deliveryLines({ rows, archived }: Pick<KeptRun, 'rows' | 'archived'>): string[] {
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
  ...Object.entries({ where, expected, got, 'what to do': next }).flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name}: ${value}`],
  ),
];
