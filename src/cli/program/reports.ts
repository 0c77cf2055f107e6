import { Argument, Option } from 'commander';
import type { CommandIo } from '../io.ts';
import { RECIPE_NAMES, RECIPES } from '../recipes/recipe.ts';
import { createPrinter } from '../terminal/print.ts';
import type { DocketCommand } from './command.ts';

export function addReportCommands(program: DocketCommand, io: CommandIo): void {
  program.commandsGroup('Reports:');

  program
    .command('schema')
    .description('Print the JSON Schema of report definitions (or of org.yaml, targets.yaml) for editors')
    .addArgument(new Argument('[file]', 'kind of file').choices(['report', 'org', 'targets']).default('report'))
    .option('--json', 'no effect: the output is always one JSON document')
    .details(`
Refer to it in the first line of a definition:
  # yaml-language-server: $schema=../report.schema.json

Environment: none

Examples:
  docket schema > jobs/report.schema.json
  docket schema org > jobs/org.schema.json
  docket schema targets > jobs/targets.schema.json`)
    .action(async (file: 'report' | 'org' | 'targets') => {
      const schemas = await import('../../definitions/schema/json-schema.ts');
      const { BUILT_IN_KINDS } = await import('../../compose/built-in-kinds.ts');
      const schemaOf = {
        report: () => schemas.reportJsonSchema(BUILT_IN_KINDS),
        org: schemas.orgJsonSchema,
        targets: schemas.targetsJsonSchema,
      };
      createPrinter(io).printJson(schemaOf[file]());
    });

  program
    .command('catalog')
    .description('List the metrics that an organization may read, with units, history and dimensions')
    .argument('[words...]', 'words to search for; the id of a metric or dimension prints its details')
    .option('--org <org>', 'organization; needed if there are several')
    .option('--json', 'one JSON document on stdout')
    .details(`
With REDIS_URL set, it uses the catalog that the workers have cached in the last hour. If there is none, it makes one metrics
call, within the budget of the API key.

Environment: COMPLIANCE_API_URL, DOCKET_JOBS, REDIS_URL, LOG_LEVEL; the organization's key

Exit codes: 0 something was found; 1 nothing matches, or the catalog cannot be fetched; 2 usage or configuration

Examples:
  docket catalog
  docket catalog rfis seconds            all that contain both words
  docket catalog profiles.approval_rate  one metric
  docket catalog --org acme --json | jq '.metrics[] | select(.current).id'`)
    .action(async (words, flags) => (await import('../commands/catalog.ts')).catalog(words, flags, io));

  program
    .command('new')
    .description('Write a new report from a recipe, with the metrics that its organization may read')
    .argument('<name>', '<org>/<report>; the organization must exist')
    .addOption(new Option('--from <recipe>', 'recipe to start from').choices(RECIPE_NAMES).makeOptionMandatory())
    .option('--title <text>', 'title; default: the title of the recipe')
    .option('--to <address...>', 'recipients, which org.yaml must allow; default: the first address in org.yaml')
    .option('--owner <address>', 'who is notified when a run fails; default: the first recipient')
    .option('--offline', 'do not fetch the catalog: use only metrics that every organization has')
    .option('--json', 'one JSON document on stdout')
    .details(`
Recipes:
${Object.entries(RECIPES)
  .map(([name, { summary }]) => `  ${name.padEnd(13)} ${summary}`)
  .join('\n')}

The file passes \`docket check\`. Its comments explain each part and list further metrics. No file is overwritten. \`docket
init\` creates organizations.

Environment: DOCKET_JOBS, LOG_LEVEL; without --offline also COMPLIANCE_API_URL, REDIS_URL and the organization's key

Exit codes: 0 written; 1 the organization has errors or does not exist; 2 usage or configuration, nothing was written

Examples:
  docket new acme/backlog --from backlog
  docket new acme/board --from board-pack --to board@acme.example --title "Board pack"`)
    .action(async (name, flags) => (await import('../commands/reports/new.ts')).newReport(name, flags, io));

  program
    .command('check')
    .description('Validate report definitions and your own templates: all errors at once, each with its source line')
    .argument('[paths...]', 'files or folders below DOCKET_JOBS; default: all')
    .option('--offline', 'do not fetch the organizations’ metric catalogs')
    .choice(
      '--format <format>',
      'output format; github: annotations of a pull request; sarif: for code scanning',
      ['text', 'json', 'github', 'sarif'],
      'text',
    )
    .option('--json', 'one JSON document on stdout; the same as --format json')
    .details(`
Each error is printed with its position (file:line:column), the marked line, what is expected and what to do. A mistake in the
YAML, such as a tab or missing quotes, does not hide later mistakes. With --json each error has file, line, column, end, path,
code, expected, got and next.

A secret or a destination outside the report's organization is an error; with DOCKET_REPORT_SCOPE=warn it is a warning.

Environment: DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE, LOG_LEVEL;
without --offline also COMPLIANCE_API_URL, REDIS_URL and the organizations' keys

Exit codes: 0 no errors, warnings are allowed; 1 errors; 2 usage or configuration

Examples:
  docket check                         everything, against the catalogs that can be reached
  docket check --offline               without calling the API
  docket check jobs/acme/weekly.yaml   one report
  docket check --offline --format github   in a workflow of GitHub Actions`)
    .action(async (paths, flags) => (await import('../commands/reports/check.ts')).check(paths, flags, io));

  program
    .command('explain')
    .description('Print the requests, cost and deliveries of a run, without running it')
    .argument('<report>', '<org>/<report>')
    .option('--period <period>', 'instead of the definition’s period')
    .option('--json', 'one JSON document on stdout')
    .details(`
With REDIS_URL set, it shows the rate-limit state of the key, and fetches the metric catalog only if the workers have none.

Environment: COMPLIANCE_API_URL, DOCKET_JOBS, REDIS_URL, LOG_LEVEL; the organization's key

Examples:
  docket explain acme/board-pack
  docket explain acme/board-pack --period 2026-10 --json`)
    .action(async (report, flags) => (await import('../commands/reports/explain.ts')).explain(report, flags, io));

  program
    .command('preview')
    .description('Create a report’s e-mail and files for review, without sending')
    .argument('<report>', '<org>/<report>')
    .option('--period <period>', 'instead of the definition’s period, e.g. previous_month, 2026-10')
    .option('--unfinished', 'allow a --period that is not over: its figures so far')
    .option('--out <dir>', 'output folder; default: out/preview/<org>/<report>/<period>')
    .option('--open', 'open the e-mail in the browser')
    .option('--sample', 'sample data from the sandbox: no call to the service, no key or password needed')
    .option('--value <value>', 'for a report with `split`: only the pack of this value')
    .option('--json', 'one JSON document on stdout')
    .details(`
Without --sample it makes the same calls as \`docket run --no-deliver\`. In addition to the output of a run (files, mail.html
and mail.txt as sent, the manifest) it writes the e-mail with inline images, for a browser: preview.html has the body of the
first delivery; preview-full.html, preview-summary.html and preview-notice.html have the bodies that the deliveries use.

Environment: DOCKET_JOBS, DOCKET_TEMPLATES, LOG_LEVEL; without --sample also COMPLIANCE_API_URL, REDIS_URL and the organization's secrets

Exit codes: 0 created; 1 failed; 2 usage or configuration

Examples:
  docket preview acme/weekly-kpi --sample --open
  docket preview acme/board-pack --period 2026-10 --out preview`)
    .action(async (report, flags) => (await import('../commands/reports/preview.ts')).preview(report, flags, io));

  program
    .command('diff')
    .description('Show how the local definitions differ from the active ones: schedules, recipients, calls')
    .option('--base <revision>', 'compare with DOCKET_JOBS in this revision of Git instead; needs no Redis')
    .choice(
      '--format <format>',
      'output format; markdown: for a comment on a pull request',
      ['text', 'json', 'markdown'],
      'text',
    )
    .option('--json', 'one JSON document on stdout; the same as --format json')
    .details(`
Compares DOCKET_JOBS with the active definitions of the schedulers of REDIS_URL. Changes nothing and spends no metrics call,
except for metric catalogs that the workers have not cached. With --base, the number of calls is shown if the catalogs can be
fetched.

Environment: REDIS_URL, DOCKET_JOBS, COMPLIANCE_API_URL, LOG_LEVEL; the organizations' keys

Exit codes: 0 the definitions are valid, whether or not they change anything; 1 some are invalid: their active versions
stay

Examples:
  docket diff
  docket diff --base origin/main --format markdown   in a pull request
  DOCKET_JOBS=checkout/jobs docket diff --json`)
    .action(async (flags) => (await import('../commands/reports/diff.ts')).diff(flags, io));

  program
    .command('schedule')
    .description('List the next slots of the scheduled reports, in UTC and in their own time zone')
    .argument('[report]', '<org>/<report>; default: all reports in DOCKET_JOBS')
    .option('--count <n>', 'slots per report', '5')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
With REDIS_URL set, also lists the pauses of these reports and organizations.

Environment: DOCKET_JOBS, REDIS_URL, LOG_LEVEL

Examples:
  docket schedule
  docket schedule demo/weekly-kpi --count 10 --json`)
    .action(async (report, flags) => (await import('../commands/reports/schedule.ts')).schedule(report, flags, io));

  program
    .command('forecast')
    .description('Forecast when the next reports go out, which will be late, and when an API key is fully used')
    .option('--key <key>', 'only of this API key: its fingerprint, or the first characters of it')
    .option('--org <org>', 'only of this organization; others with the same key are simulated, too')
    .option('--from <when>', 'start of the window: a day, or an instant with its zone; default: now')
    .option('--hours <n>', 'length of the window, at most 168', '24')
    .option('--require-complete', 'exit with 1 if the calls of a report are not known')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Simulates the slots of DOCKET_JOBS on a virtual clock, with the catalogs that the workers have cached in the last hour. It makes
no call and takes no token. It assumes that each key has all its tokens at the start, leaves out runs on demand, backfills,
corrected editions and failures, and prints its assumptions. On a terminal, times count from the slot.

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL; the organizations' keys

Exit codes: 0 forecast made, even if reports are late; 1 a report is missing (--require-complete), or Redis cannot be reached;
2 usage or configuration

Examples:
  docket forecast
  docket forecast --from 2026-11-30T00:00:00Z --hours 48 --org acme
  docket forecast --require-complete --json | jq '[.runs[] | select(.late).report]'`)
    .action(async (flags) => (await import('../commands/forecast.ts')).forecast(flags, io));
}
