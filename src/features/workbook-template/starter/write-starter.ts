import { writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, resolve } from 'node:path';
import type { AppContext } from '../../../base/context.ts';
import { isErrno } from '../../../base/errno.ts';
import { DocketError, errorMessage } from '../../../base/error.ts';
import { createContext } from '../../../cli/context.ts';
import { findCatalog } from '../../../cli/find-catalog.ts';
import { type CommandIo, relativePath } from '../../../cli/io.ts';
import { createPrinter } from '../../../cli/terminal/print.ts';
import { loadDefinitions, requireReport } from '../../../compose/built-in-kinds.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import { reportTargets } from '../../../definitions/schema/targets.ts';
import { DEFAULT_LOCALE } from '../../../i18n/messages.ts';

interface StarterFlags {
  /** `org/report`; absent if there is only one. */
  readonly report?: string;
  readonly offline?: boolean;
  readonly json?: boolean;
}

/**
 * Writes a workbook template for a report, to be designed further in Excel. Uses labels of the catalog if it can be
 * fetched. Never overwrites a file. Throws `usage.invalid`, `definition.*`.
 */
export async function initStarterWorkbook(path: string, flags: StarterFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  if (extname(path).toLowerCase() !== '.xlsx')
    throw new DocketError('usage.invalid', 'A starter template is an .xlsx file.', {
      where: '--workbook',
      expected: 'a path that ends in .xlsx',
      got: basename(path),
      next: 'Write e.g. --workbook board.xlsx. Excel can save it as .xlsm later.',
    });
  const context = await createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const report = flags.report ?? onlyReport(jobs);
  const { definition, settings } = requireReport(jobs, report);
  const found = flags.offline
    ? 'not requested (--offline)'
    : context.config.COMPLIANCE_API_URL === undefined
      ? 'COMPLIANCE_API_URL is not set'
      : await findCatalog(context, jobs, settings);
  const catalog = typeof found === 'string' ? undefined : found;
  const [{ createStarterWorkbook }, { outlineOfDefinition }, { describeWorkbookTemplate }] = await Promise.all([
    import('./starter-workbook.ts'),
    import('../binding/outline.ts'),
    import('../describe-template.ts'),
  ]);
  const outline = outlineOfDefinition(definition, catalog, settings);
  const targets = reportTargets(settings.targets, definition.targets);
  const bytes = await createStarterWorkbook(outline, {
    title: definition.title,
    locale: definition.locale ?? settings.locale ?? DEFAULT_LOCALE,
    judged: new Set(targets.flatMap(({ metric, target }) => (target === undefined ? [] : metric))),
    madeAt: context.clock.now(),
  });
  await writeNew(path, bytes);
  const [problem] = (await describeWorkbookTemplate(path, outline)).problems;
  if (problem?.severity === 'error')
    throw new DocketError('internal.defect', 'The starter template does not fit its report.', {
      where: path,
      expected: problem.expected,
      got: problem.got,
      next: 'Report this as a defect.',
    });
  const template = fromOrgFolder(path, definition.org, context.config.DOCKET_JOBS);
  if (flags.json)
    return print.printJson({
      written: [path],
      report,
      template,
      catalog: catalog !== undefined,
      why: typeof found === 'string' ? found : null,
    });
  print.printLine(`written  ${relativePath(path, io)}`);
  if (typeof found === 'string') print.printStatus(`headers are ids, because the catalog is not known: ${found}`);
  print.printLine(
    `\nNext:\n${nextSteps(path, template, report, context, io)
      .map((step) => `  ${step}`)
      .join('\n')}`,
  );
}

function nextSteps(
  path: string,
  template: string | null,
  report: string,
  { config }: AppContext,
  io: CommandIo,
): readonly string[] {
  const [org = '', id = ''] = report.split('/');
  const folder = join(config.DOCKET_JOBS, org);
  const name = template ?? basename(path);
  return [
    'design it in Excel; keep the names of its tables, columns and cells',
    ...(template === null ? [`copy it beside ${relativePath(join(folder, 'org.yaml'), io)}`] : []),
    `add template: ${name} to the xlsx output of ${relativePath(join(folder, `${id}.yaml`), io)}`,
    'docket check',
    `docket preview ${report} --sample`,
  ];
}

/** The path to write in a definition of the organization; null if the file is outside of its folder. */
function fromOrgFolder(path: string, org: string, jobs: string): string | null {
  const name = relative(resolve(jobs, org), resolve(path));
  return dirname(name) === '.' && name !== '' ? name : null;
}

function onlyReport({ reports }: Definitions): string {
  const names = [...reports.keys()];
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  throw new DocketError('usage.invalid', 'The report of the workbook is missing.', {
    where: '--report',
    expected: names.length === 0 ? 'a report; none is defined' : `one of ${names.slice(0, 20).join(', ')}`,
    next: names.length === 0 ? 'Write one first: docket new.' : 'Name it: --report <org/report>.',
  });
}

async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(path, bytes, { flag: 'wx' });
  } catch (cause) {
    const exists = isErrno(cause, 'EEXIST');
    throw new DocketError(
      'usage.invalid',
      exists ? 'The file exists; nothing was written.' : 'The template cannot be written.',
      {
        where: path,
        expected: exists ? 'a new file' : 'a folder that can be written',
        ...(exists ? {} : { got: errorMessage(cause) }),
        next: exists ? 'Choose another name.' : 'Correct the path or its permissions.',
        cause,
      },
    );
  }
}
