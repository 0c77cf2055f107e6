import { DocketError } from '../../base/error.ts';
import { withArchive } from '../../compose/archive.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { civilDateSchema } from '../../contract/catalog.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { readingArchive } from '../../deliver/archive/readings/reading-archive.ts';
import { isGap, type ReadingEntry, readingHistory } from '../../services/readings/reading-history.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { invalidOption } from '../options/option-parsers.ts';
import { timesFor } from '../terminal/local-times.ts';
import { type Column, createPrinter } from '../terminal/print.ts';

interface ReadingsFlags {
  readonly from?: string;
  readonly to?: string;
  readonly wide?: boolean;
  readonly json?: boolean;
  readonly requireComplete?: boolean;
}

const COLUMNS: readonly (string | Column)[] = [
  { name: 'DAY', whenNarrow: 'keep' },
  { name: 'ORG', whenNarrow: 'drop-last' },
  { name: 'QUESTION', cut: 'middle' },
  { name: 'STATE', whenNarrow: 'keep' },
  { name: 'AS OF', whenNarrow: 'keep' },
  { name: 'CALLS', whenNarrow: 'drop', rank: 2 },
  { name: 'WHY', whenNarrow: 'drop', rank: 1 },
];

/** Lists stored and missed readings. Throws `usage.invalid`, `definition.not_found`. */
export async function listReadings(org: string | undefined, flags: ReadingsFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
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
  const context = await createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const orgs = chooseOrganizations(org, jobs.orgs);
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
    const times = timesFor(io, now, flags);
    print.printTable(
      COLUMNS,
      entries.map(({ day, org: of, question, state, asOf, asked: calls, why }) => [
        day,
        of,
        question,
        state,
        asOf === null ? '' : { exact: asOf, brief: times.relative(Date.parse(asOf)) },
        String(calls),
        why === null ? '' : `${why.message} [${why.code}]`,
      ]),
      flags,
    );
  }
  const count = (wanted: ReadingEntry['state']) => entries.filter(({ state }) => state === wanted).length;
  const due = count('due');
  print.printStatus(
    `${count('stored')} stored, ${missed === 0 ? 'none' : missed} missed${due === 0 ? '' : `, ${due} due`}`,
  );
  if (missed > 0) print.printNext([{ command: 'docket doctor', why: 'whether workers run and can store readings' }]);
}

function chooseOrganizations(org: string | undefined, orgs: ReadonlyMap<string, OrgSettings>): readonly OrgSettings[] {
  if (org === undefined) return [...orgs.values()].filter(({ readings }) => readings !== undefined);
  const settings = orgs.get(org);
  if (settings !== undefined) return [settings];
  throw new DocketError('definition.not_found', 'There is no such organization.', {
    got: JSON.stringify(org),
    expected: [...orgs.keys()].join(', '),
    next: 'Correct the name; DOCKET_JOBS is the folder that was read.',
  });
}

const entryToJson = ({ org, day, question, state, asOf, asked: calls, why }: ReadingEntry) => ({
  org,
  day,
  question,
  state,
  as_of: asOf,
  calls: calls,
  why,
});
