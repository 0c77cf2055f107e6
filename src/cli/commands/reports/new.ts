import { join } from 'node:path';
import { DocketError } from '../../../base/error.ts';
import { BUILT_IN_READING, loadDefinitions } from '../../../compose/built-in-kinds.ts';
import { recipientRefusal } from '../../../definitions/allow-lists/recipients.ts';
import { formatDiagnostic } from '../../../definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import type { LoadedOrg } from '../../../definitions/load/parse-definitions.ts';
import { approvers } from '../../../definitions/people.ts';
import { ID_DESCRIPTION, ID_PATTERN } from '../../../definitions/schema/values/primitives.ts';
import { type ValidationTask, validateText } from '../../../services/definitions/definition-tasks.ts';
import { createContext } from '../../context.ts';
import { findCatalog } from '../../find-catalog.ts';
import { validateAddresses, validatedFlag, validateOwner } from '../../init/answers.ts';
import { parseAddresses } from '../../init/draft.ts';
import { writeFiles } from '../../init/write-files.ts';
import type { CommandIo } from '../../io.ts';
import type { RecipeName } from '../../recipes/recipe.ts';
import { reportYaml } from '../../recipes/report-yaml.ts';
import { createPrinter } from '../../terminal/print.ts';
import { requireOrganization } from '../organization.ts';

export interface NewReportFlags {
  readonly from: RecipeName;
  readonly title?: string;
  readonly to?: readonly string[];
  readonly owner?: string;
  readonly offline?: boolean;
  readonly json?: boolean;
}

/** Writes a report from a recipe, adapted to the organization's catalog. Never overwrites a file. */
export async function newReport(name: string, flags: NewReportFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const { org, report } = parseReportName(name);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const of = loadedOrganization(jobs, org);
  assertNewName(jobs, org, report);
  const readers = resolveReaders(flags, of);
  const found = flags.offline
    ? 'without --offline the sections follow the catalog of the API key'
    : await findCatalog(context, jobs, of.settings);
  const [catalog, why] = typeof found === 'string' ? [undefined, found] : [found];
  const options = {
    report,
    title: flags.title,
    ...readers,
    folder: of.settings.destinations?.folders[0],
    withoutWeeks: (of.settings.week_start ?? 'MON') !== 'MON',
    approvers: peopleWhoSignIn(of.settings),
    dataReady: of.settings.data_ready,
    hasUnits: of.settings.units !== undefined,
  };
  const { text, sections, leftOut } = reportYaml(flags.from, options, catalog);
  const path = join(context.config.DOCKET_JOBS, org, `${report}.yaml`);
  assertValid({ text, file: path, name: { org, report }, of, catalog, now: context.clock.now() });
  await writeFiles([{ path, text, shared: false }]);
  const next = [`docket check ${path}`, `docket preview ${name} --sample`, `docket catalog --org ${org}`];
  if (flags.json) {
    print.printJson({
      written: path,
      report: name,
      recipe: flags.from,
      sections,
      left_out: leftOut,
      catalog: catalog === undefined ? null : { registry_version: catalog.registry_version },
      next,
    });
    return;
  }
  print.printLine(`written  ${path}`);
  print.printLine(`sections ${sections.join(', ')}`);
  if (leftOut.length > 0) print.printLine(`left out ${leftOut.join(', ')}: not in the catalog of ${org}`);
  if (why !== undefined) print.printStatus(`written without the catalog: ${why}`);
  print.printLine(`\nNext:\n${nextSteps(next, flags.from)}`);
}

/** Keys of the people in an organization who can sign in and approve. */
const peopleWhoSignIn = ({ people = {} }: LoadedOrg['settings']): readonly string[] =>
  approvers(Object.keys(people), people)
    .filter(({ canSignIn }) => canSignIn)
    .map(({ id }) => id);

function nextSteps(commands: readonly string[], name: RecipeName): string {
  const comments = ['checks it, after a change', 'shows it with sample data', `lists other metrics for the ${name}`];
  const width = Math.max(...commands.map((command) => command.length));
  return commands.map((command, index) => `  ${command.padEnd(width)}   # ${comments[index] ?? ''}`).join('\n');
}

function parseReportName(name: string): { readonly org: string; readonly report: string } {
  const [org = '', report = '', ...more] = name.split('/');
  if (more.length === 0 && ID_PATTERN.test(org) && ID_PATTERN.test(report) && !['org', 'targets'].includes(report))
    return { org, report };
  throw new DocketError('usage.invalid', 'This cannot be the name of a report.', {
    where: 'docket new',
    expected: `<org>/<report>, each of ${ID_DESCRIPTION}; not "org" or "targets"`,
    got: JSON.stringify(name.slice(0, 80)),
    next: 'Name it e.g. acme/weekly-kpi.',
  });
}

/** The settings and their text. Throws `definition.not_found`, `definition.invalid`. */
function loadedOrganization(jobs: Definitions, org: string): LoadedOrg {
  const settings = requireOrganization(jobs, org);
  return jobs.lastKnownGood.orgs.get(settings.id) ?? { text: '', settings };
}

function assertNewName(jobs: Definitions, org: string, report: string): void {
  const stems = ['yaml', 'yml'].map((extension) => join(jobs.folder, org, `${report}.${extension}`));
  const taken =
    jobs.sources.get(`${org}/${report}`)?.file ?? jobs.diagnostics.find(({ file }) => stems.includes(file))?.file;
  if (taken === undefined) return;
  throw new DocketError('usage.invalid', `The report ${org}/${report} already exists; nothing was written.`, {
    where: taken,
    expected: 'a name that no report has',
    next: 'Choose another name, or edit that file.',
  });
}

/** Recipients and owner, from the flags or else from the addresses that org.yaml allows. Throws `usage.invalid`. */
function resolveReaders(
  { to, owner }: NewReportFlags,
  { settings }: LoadedOrg,
): { to: readonly string[]; owner: string } {
  const allowed = settings.recipients.addresses;
  const recipients =
    to === undefined ? allowed.slice(0, 1) : parseAddresses(validatedFlag('--to', to.join(' '), validateAddresses));
  const refused = recipients.find((address) => recipientRefusal(address, settings.recipients) !== undefined);
  if (refused !== undefined) {
    throw new DocketError('usage.invalid', `${settings.id} does not allow this recipient; nothing was written.`, {
      where: '--to',
      expected: `one of its recipients: ${[...settings.recipients.domains.map((domain) => `anybody@${domain}`), ...allowed].join(', ') || 'none'}`,
      got: refused,
      next: 'Name another one, or add it to recipients in its org.yaml first.',
    });
  }
  if (recipients.length === 0) {
    throw new DocketError('usage.invalid', 'A recipient is missing; nothing was written.', {
      where: 'docket new',
      expected: `--to <address>${settings.recipients.domains.length === 0 ? '' : ` at ${settings.recipients.domains.join(' or ')}`}`,
      next: 'Add it.',
    });
  }
  const known = owner === undefined ? recipients.find((address) => validateOwner(address) === undefined) : owner;
  return { to: recipients, owner: validatedFlag('--owner', known ?? '', validateOwner) };
}

/** Throws `usage.invalid` with the errors that `docket check` would report. */
function assertValid(task: ValidationTask): void {
  const { file: path } = task;
  const faults = validateText(BUILT_IN_READING, task);
  if (faults.length === 0) return;
  throw new DocketError(
    'usage.invalid',
    `The report would have errors; nothing was written:\n  ${faults.map(formatDiagnostic).join('\n  ')}`,
    { where: path, next: 'Correct the flags, or org.yaml.' },
  );
}
