import type { Command } from 'commander';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { ReadingEntry } from '../../services/readings/reading-history.ts';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';
import type { Column } from '../terminal/table.ts';

interface ReadingsFlags {
  readonly from?: string;
  readonly to?: string;
  readonly json?: boolean;
  readonly requireComplete?: boolean;
}

export function addReadingsCommand(program: Command, io: CommandIo): void {
  program
    .command('readings')
    .description('List the daily readings of current counts, and the days that were missed')
    .argument('[org]', 'only of this organization; default: all with readings in org.yaml')
    .option('--from <date>', 'first day, YYYY-MM-DD; default: the first reading, at most 31 days ago')
    .option('--to <date>', 'last day, YYYY-MM-DD; default: today')
    .option('--require-complete', 'exit with 1 if a reading was missed')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Reads the archive only. A missed reading stays a gap: the service has no history of current counts. With --from, days before
the first reading are gaps as well.

Environment: DOCKET_JOBS, DOCKET_ARCHIVE, LOG_LEVEL

Exit codes: 0 listed; 1 a reading was missed (--require-complete); 2 usage or configuration

Examples:
  docket readings acme
  docket readings acme --from 2026-10-01 --to 2026-10-31 --require-complete`,
    )
    .action((org: string | undefined, flags: ReadingsFlags) => listReadings(org, flags, io));
}

const COLUMNS: readonly (string | Column)[] = [
  'DAY',
  { name: 'ORG', whenNarrow: 'drop' },
  'QUESTION',
  'STATE',
  'AS OF',
  { name: 'CALLS', whenNarrow: 'drop' },
  { name: 'WHY', whenNarrow: 'drop' },
];

async function listReadings(org: string | undefined, flags: ReadingsFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [
    { createContext },
    { withArchive },
    { loadDefinitions },
    { readingArchive },
    { isGap, readingHistory },
    { civilDateSchema },
    { invalidOption },
  ] = await Promise.all([
    import('../context.ts'),
    import('../../compose/archive.ts'),
    import('../../services/definitions/built-in-kinds.ts'),
    import('../../deliver/archive/readings/reading-archive.ts'),
    import('../../services/readings/reading-history.ts'),
    import('../../contract/catalog.ts'),
    import('../options/option-parsers.ts'),
  ]);
  const { from, to } = flags;
  for (const [option, text] of [
    ['--from', from],
    ['--to', to],
  ] as const) {
    if (text !== undefined && !civilDateSchema.safeParse(text).success) {
      throw invalidOption(option, text, 'a date, YYYY-MM-DD');
    }
  }
  if (from !== undefined && to !== undefined && to < from) throw invalidOption('--to', to, `${from} or later`);
  const context = createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const orgs = await chooseOrganizations(org, jobs.orgs);
  const now = context.clock.now();
  const entries = await withArchive(context, async ({ storage }) => {
    const archive = readingArchive(storage);
    const found: ReadingEntry[] = [];
    for (const settings of orgs) found.push(...(await readingHistory(archive, settings, { from, to }, now)));
    return found;
  });
  const missed = entries.filter(isGap).length;
  if (flags.requireComplete && missed > 0) io.exitCode = 1;
  if (flags.json) return print.printJson({ readings: entries.map(entryToJson), missed });
  if (entries.length === 0) print.printLine('No readings.');
  else {
    print.printTable(
      COLUMNS,
      entries.map(({ day, org: of, question, state, asOf, asked, why }) => [
        day,
        of,
        question,
        state,
        asOf ?? '',
        String(asked),
        why === null ? '' : `${why.message} [${why.code}]`,
      ]),
    );
  }
  print.printStatus(`${entries.length} readings, ${missed === 0 ? 'none' : missed} missed`);
}

async function chooseOrganizations(
  org: string | undefined,
  orgs: ReadonlyMap<string, OrgSettings>,
): Promise<readonly OrgSettings[]> {
  if (org === undefined) return [...orgs.values()].filter(({ readings }) => readings !== undefined);
  const settings = orgs.get(org);
  if (settings !== undefined) return [settings];
  const { DocketError } = await import('../../base/error.ts');
  throw new DocketError('definition.not_found', 'There is no such organization.', {
    got: JSON.stringify(org),
    expected: [...orgs.keys()].join(', '),
    next: 'Correct the name; DOCKET_JOBS is the folder that was read.',
  });
}

const entryToJson = ({ org, day, question, state, asOf, asked, why }: ReadingEntry) => ({
  org,
  day,
  question,
  state,
  as_of: asOf,
  calls: asked,
  why,
});
