import type { Command } from 'commander';
import type { DeliveredJson } from '../base/error.ts';
import type { PeriodSpec } from '../define/definition.ts';
import type { CountsSection } from '../plan/asked.ts';

interface BackfillFlags {
  readonly from: string;
  readonly to: string;
  readonly deliver?: boolean;
  readonly again?: boolean;
  readonly by?: string;
  readonly json?: boolean;
}

export function addBackfill(program: Command): void {
  program
    .command('backfill')
    .description('Run a report for each of its periods in a time that is over, behind everything else in line')
    .argument('<report>', '<org>/<report>')
    .requiredOption('--from <period>', 'where to begin: a day, week, month, quarter or year, e.g. 2026-01 or 2026-W03')
    .requiredOption('--to <period>', 'where to end, included, e.g. 2026-09')
    .option('--deliver', 'send what is made; without, it is archived alone')
    .option('--again', 'new runs, also for periods that were filled or delivered before')
    .option('--by <name>', 'who asks; the user of this shell when absent')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Current counts have no history: they are undefined in these runs, which is said first, with the sections that have some.

One run a period of the report's own kind (previous_month: months), opened in the line of the workers at the lowest
priority: on-demand and scheduled runs go first, and so do their calls. The definition is the one of now. Asking for the
same backfill again finds the runs that are there; after a correction of the definition, --again makes new ones.
With --deliver, periods that were delivered before by another run are left out and listed; --again sends them as well, and
so does DOCKET_REPEAT=allow.

Environment: REDIS_URL, DOCKET_JOBS, DOCKET_ARCHIVE, DOCKET_REPEAT, LOG_LEVEL; SMTP_URL and MAIL_FROM with --deliver;
COMPLIANCE_API_URL and the organization's key, to know which sections have current counts

Examples:
  docket backfill acme/board-pack --from 2026-01 --to 2026-09
  docket backfill acme/weekly-kpi --from 2026-W01 --to 2026-W26 --deliver`,
    )
    .action(backfill);
}

async function backfill(report: string, flags: BackfillFlags): Promise<void> {
  const [
    { randomBytes },
    { toDocketError },
    { readSurroundings },
    { createScope },
    { requireMail },
    { openComparedStore },
    { catalogIfKnown },
    { countsSections },
    { loadJobs, requireReport },
    { backfillPeriods },
    { readAsker },
    { openAudit },
    { openBars },
    print,
  ] = await Promise.all([
    import('node:crypto'),
    import('../base/error.ts'),
    import('./surroundings.ts'),
    import('../base/scope.ts'),
    import('../compose/ports.ts'),
    import('../compose/compared-store.ts'),
    import('../compose/planning.ts'),
    import('../plan/asked.ts'),
    import('../define/load.ts'),
    import('../run/backfill.ts'),
    import('./decider.ts'),
    import('./audit.ts'),
    import('./progress-bar.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const jobs = await loadJobs(around.config.DOCKET_JOBS);
  const { definition, settings } = requireReport(jobs, report);
  const deliver = flags.deliver ?? false;
  if (deliver) requireMail(definition, settings, around.config);
  const [first, last] = [await readDays('--from', flags.from), await readDays('--to', flags.to)];
  const periods = backfillPeriods({ definition, settings, from: first.from, to: last.to, now: around.clock.now() });
  const by = await readAsker(flags.by);
  const again = flags.again ? `:${randomBytes(6).toString('hex')}` : '';
  const scope = createScope();
  try {
    const { trigger, redis, prefix } = await openComparedStore(around, scope);
    const possible = countsSections(definition, undefined);
    const catalog =
      possible.length === 0
        ? undefined
        : await catalogIfKnown(around, { redis, prefix, orgs: () => jobs.orgs }, settings, scope);
    const counts = catalog === undefined ? possible : countsSections(definition, catalog);
    const known = catalog !== undefined || possible.length === 0;
    if (counts.length > 0) print.sayLine(countsLine(counts, known));
    const audit = await openAudit(redis, around);
    const bars = scope.use(openBars(), (opened) => opened.close());
    const bar = bars.add(report);
    const runs = [];
    const leftOut: LeftOut[] = [];
    for (const period of periods) {
      bar.set(runs.length + leftOut.length, periods.length, `opening ${period.from} to ${period.to}`);
      const asked = `backfill:${period.from}..${period.to}${deliver ? ':deliver' : ''}${again}`;
      const slot = { trigger: asked };
      const kind = { trigger: 'backfill', priority: 'backfill' } as const;
      const request = { definition, settings, slot, ...kind, period, deliver, again: flags.again ?? false, by };
      const triggered = await trigger(request).catch((thrown: unknown) => {
        const { code, delivered, message } = toDocketError(thrown);
        if (code !== 'already_delivered') throw thrown;
        leftOut.push({ period, delivered, why: message });
      });
      if (!triggered) continue;
      const { opened, record } = triggered;
      const { org, report: name, id: run } = record;
      if (opened) await audit.tell({ event: 'run.triggered', who: by, org, report: name, run, why: 'backfill' });
      runs.push({ id: record.id, period: record.period, state: record.state, opened });
    }
    bars.close();
    if (flags.json) {
      const before = leftOut.map(({ period, delivered }) => ({ period, delivered }));
      const undefinedCounts = { known, sections: counts };
      return print.printJson({ report, deliver, undefined_counts: undefinedCounts, runs, already_delivered: before });
    }
    print.printLine(
      print.formatColumns(
        ['PERIOD', 'STATE', { name: 'OPENED', narrow: 'spare' }, { name: 'RUN', narrow: 'whole' }],
        runs.map(({ period, state, opened, id }) => [period.label, state, opened ? 'now' : 'before', id]),
      ),
    );
    const opened = runs.filter((run) => run.opened).length;
    for (const { why } of leftOut) print.sayLine(`Left out: ${why}`);
    if (leftOut.length > 0) print.sayLine('What was left out was delivered before; --again sends it as well.');
    print.sayLine(`${opened} of ${runs.length} runs opened now; \`docket runs --org ${definition.org}\` follows them.`);
  } finally {
    await scope.close();
  }
}

/** What is undefined in the runs of a backfill. */
function countsLine(counts: readonly CountsSection[], known: boolean): string {
  const sections = counts.map(({ section, metrics }) => `${section} (${metrics.join(', ')})`).join('; ');
  return known
    ? `Current counts have no history. They are undefined in every run of this backfill: ${sections}.`
    : `Current counts have no history. They are undefined in every run of this backfill. Without a metric catalog it is not known which these are; they may be in: ${sections}.`;
}

/** A period that another run has delivered before. */
interface LeftOut {
  readonly period: Extract<PeriodSpec, object>;
  readonly delivered: DeliveredJson | undefined;
  /** One sentence. */
  readonly why: string;
}

/** The days of a flag's calendar period; `usage.invalid` for names such as previous_week, which mean others every day. */
async function readDays(flag: string, text: string): Promise<Extract<PeriodSpec, object>> {
  const [{ DocketError }, { parsePeriod }] = await Promise.all([
    import('../base/error.ts'),
    import('../define/period.ts'),
  ]);
  let spec: PeriodSpec | undefined;
  try {
    spec = parsePeriod(text);
  } catch {
    spec = undefined;
  }
  if (typeof spec === 'object') return spec;
  throw new DocketError('usage.invalid', 'The value is not usable.', {
    where: flag,
    expected: 'a day, week, month, quarter or year: 2026-01-31, 2026-W05, 2026-01, 2026-Q1 or 2026',
    got: JSON.stringify(text.slice(0, 80)),
    next: 'See --help.',
  });
}
