import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppContext } from '../../../base/context.ts';
import { DocketError } from '../../../base/error.ts';
import { replaceFile } from '../../../base/files/durable-file.ts';
import { FORMATS, loadDefinitions, requireReport } from '../../../compose/built-in-kinds.ts';
import { parsePeriod } from '../../../definitions/periods/period.ts';
import type { OrgSettings } from '../../../definitions/schema/org-settings.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import { assertSplitValue } from '../../../definitions/split.ts';
import type { PublishedRun } from '../../../deliver/archive/archive.ts';
import type { PackRecord } from '../../../deliver/archive/manifest.ts';
import { readPack } from '../../../deliver/archive/run-folder/pack-files.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { inlineImages, MAIL_BODY_NAMES, mailBodies, type RunMail } from '../../../render/artifact.ts';
import { type TypedComment, withComments } from '../../../render/figures/comments/printed-comments.ts';
import { figureReferences, referenceText } from '../../../render/figures/comments/references.ts';
import { type Format, resolveFormat } from '../../../render/formats/format.ts';
import type { RunOrder } from '../../../run/run-record.ts';
import type { RunResult } from '../../../run/run-result.ts';
import { createContext } from '../../context.ts';
import { type CommandIo, relativePath, resolvePath } from '../../io.ts';
import { runInline } from '../../run-inline.ts';
import { formatFileGroup, groupFiles } from '../../terminal/output-groups.ts';
import { createPrinter } from '../../terminal/print.ts';

interface PreviewFlags {
  readonly period?: string;
  readonly unfinished?: boolean;
  readonly out?: string;
  readonly open?: boolean;
  readonly sample?: boolean;
  readonly value?: string;
  readonly json?: boolean;
}

export async function preview(report: string, flags: PreviewFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const { definition, settings } = requireReport(jobs, report);
  assertSplitValue(definition, flags.value, { deliver: false });
  const period = flags.period === undefined ? undefined : parsePeriod(flags.period);
  const source = flags.sample
    ? await useSandbox(context, settings)
    : { context, settings, orgs: jobs.orgs, close: async () => {} };
  try {
    const { order, result, published } = await runInline(
      {
        definition: flags.sample ? withoutOutputSecrets(definition, FORMATS) : definition,
        settings: source.settings,
        ...('orgs' in source ? { orgs: source.orgs } : {}),
        ...('readings' in source ? { readings: source.readings } : {}),
        ...(flags.sample ? { annotate: sampleComments(definition, context.clock.now()) } : {}),
        period,
        unfinished: flags.unfinished,
        out: ({ period: { label } }) => resolvePath(flags.out ?? `out/preview/${report}/${label}`, io),
        deliver: false,
        value: flags.value,
      },
      source.context,
      io,
    );
    const packs = (published.manifest.packs ?? []).filter((pack) => pack.manifest !== undefined);
    const views: PublishedRun[] = [];
    for (const pack of packs) views.push(await writePackPreview(published, pack));
    // For a single value, the preview is the e-mail of its pack.
    const [shown = published] = flags.value === undefined ? [] : views;
    const page = join(shown.folder, 'preview.html');
    const pages = await writePreviews(shown.folder, page, shown.mail);
    if (flags.json) print.printJson(buildDocument(order, result, page, pages));
    else print.printText(formatSummary(order, result, page, pages, io));
    if (flags.open) await openInBrowser(page, print.printStatus);
  } finally {
    await source.close();
  }
}

/** Writes the e-mail of a pack as a page, next to its files. */
async function writePackPreview(published: PublishedRun, pack: PackRecord): Promise<PublishedRun> {
  const view = await readPack(published, pack);
  await writePreviews(view.folder, join(view.folder, 'preview.html'), view.mail);
  return view;
}

/** Writes the first body as `page` and each body as `preview-<body>.html`. Returns their paths by body. */
async function writePreviews(folder: string, page: string, mail: RunMail): Promise<Readonly<Record<string, string>>> {
  const pages: Record<string, string> = {};
  await replaceFile(page, inlineImages(mail));
  for (const body of mailBodies(mail)) {
    const path = join(folder, `preview-${body.body}.html`);
    await replaceFile(path, inlineImages(body));
    pages[body.body] = path;
  }
  // Removes pages of an earlier preview, which may have used another definition.
  for (const name of MAIL_BODY_NAMES.filter((each) => pages[each] === undefined)) {
    await rm(join(folder, `preview-${name}.html`), { force: true });
  }
  return pages;
}

/** Sample data needs no password, and the real one may not be available here. */
const withoutOutputSecrets = (definition: Definition, formats: readonly Format[]): Definition => ({
  ...definition,
  outputs: definition.outputs.map((output) => {
    const { format, spec } = resolveFormat(output, formats);
    const secrets = Object.keys(format.secrets?.(spec) ?? {});
    const options = Object.entries(output).filter(([field]) => !secrets.includes(field));
    return { ...Object.fromEntries(options), format: output.format };
  }),
});

/**
 * Window of the sandbox's rate limit and of the budget, in seconds. It can be short, because the sandbox is not shared.
 */
const SAMPLE_WINDOW_S = 1;

/** Starts a sandbox, and connects the report to it. Marks e-mail and files as samples. */
async function useSandbox(context: AppContext, settings: OrgSettings) {
  const [{ startSandbox }, { findSampleReadings }] = await Promise.all([
    import('../../../sandbox/sandbox.ts'),
    import('../../../demo/sample-readings.ts'),
  ]);
  const sandbox = await startSandbox({ windowMs: SAMPLE_WINDOW_S * 1000 });
  const { key, label } = sandbox.keys.find(({ organizations }) => organizations.length === 1) ?? {};
  if (key === undefined || label === undefined)
    throw new DocketError('internal.defect', 'The sandbox has no key for one organization.');
  const { REDIS_URL: _, ...env } = context.env;
  return {
    // Without Redis, because the workers' budgets are not for sandbox keys.
    context: {
      ...context,
      redis: false as const,
      config: { ...context.config, COMPLIANCE_API_URL: sandbox.url },
      env: { ...env, DOCKET_SAMPLE_KEY: key },
    },
    settings: {
      ...settings,
      name: `${settings.name ?? settings.id} (sample figures)`,
      org: 'current' as const,
      api_key: { env: 'DOCKET_SAMPLE_KEY' },
      budget: { window: SAMPLE_WINDOW_S },
    },
    // Not the readings in the archive, which are real data of the organization.
    readings: findSampleReadings({ settings, key: label, now: context.clock.now() }),
    close: () => sandbox.close(),
  };
}

const OPENERS = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] } as const;

/** Opens the page with the desktop's default program, or prints its path if there is none. */
async function openInBrowser(page: string, printStatus: (line: string) => void): Promise<void> {
  const [command, ...args] =
    process.platform === 'darwin' || process.platform === 'win32' ? OPENERS[process.platform] : ['xdg-open'];
  await new Promise<void>((resolve) => {
    const opener = spawn(command, [...args, page], { detached: true, stdio: 'ignore' });
    opener.once('error', () => {
      printStatus(`No browser could be opened (${command}); open the file yourself.`);
      resolve();
    });
    opener.once('spawn', () => {
      opener.unref();
      resolve();
    });
  });
}

const buildMailPaths = ({ folder }: RunResult, page: string) => ({
  preview: page,
  html: `${folder}/mail.html`,
  text: `${folder}/mail.txt`,
});

/** The JSON document, in snake case like the API and the manifest. */
const buildDocument = (order: RunOrder, result: RunResult, page: string, bodies: Readonly<Record<string, string>>) => ({
  run: order.id,
  org: order.org,
  report: order.report,
  state: result.state,
  period: order.period,
  ...(order.sectionPeriods === undefined ? {} : { section_periods: order.sectionPeriods }),
  folder: result.folder,
  mail: { ...buildMailPaths(result, page), bodies },
  files: result.files.map(({ name, format, path, bytes, sha256 }) => ({ name, format, path, bytes, sha256 })),
  incomplete: result.incomplete.map(({ section, code, text }) => ({ section, code, text })),
});

/** The pages by body if there are several. A single one is `preview.html`. */
const several = (bodies: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(bodies).length > 1 ? Object.values(bodies) : [];

const formatSummary = (
  order: RunOrder,
  result: RunResult,
  page: string,
  bodies: Readonly<Record<string, string>>,
  io: CommandIo,
): string =>
  [
    `${order.org}/${order.report} ${order.period.label}: nothing was sent${result.state === 'held' ? '; a run would be held' : ''}`,
    ...result.incomplete.map(({ section, text }) => `  ! ${section}: ${text}`),
    ...[...Object.values(buildMailPaths(result, page)), ...several(bodies)].map(
      (path) => `  ${relativePath(path, io)}`,
    ),
    ...groupFiles(result.files).map((group) => `  ${formatFileGroup(group)}`),
  ].join('\n');

/** The text of a sample comment, with figures of its section if it has any. */
interface SampleText {
  readonly author: string;
  readonly text: (figures: string) => string;
}

const ENGLISH: SampleText = {
  author: 'A sample author',
  text: (figures) =>
    `**A sample of a comment**${figures}. It is written for this period, and printed with its author and time.\n\n- An item of a list\n- *Emphasis*, and text that is no markup: <b>, =1+1`,
};
const GERMAN: SampleText = {
  author: 'Beispielperson',
  text: (figures) =>
    `**Beispiel eines Kommentars**${figures}. Er wird für diesen Zeitraum geschrieben und mit Person und Zeit gedruckt.\n\n- Ein Punkt einer Liste\n- *Betonung*, und Text ohne Auszeichnung: <b>, =1+1`,
};

/**
 * Adds a sample comment to each section that can have one. If only an approval is needed, adds one to the whole report.
 * A report without review stays unchanged.
 * @param now epoch ms
 */
export const sampleComments =
  ({ sections, approval }: Pick<Definition, 'sections' | 'approval'>, now: number) =>
  (dataset: Dataset, locale: string): Dataset => {
    const commented: readonly (string | null)[] = sections.flatMap(({ id, commentary }) =>
      commentary === undefined ? [] : [id],
    );
    const ids = commented.length === 0 && approval !== undefined ? [null] : commented;
    if (ids.length === 0) return dataset;
    const references = [...figureReferences(dataset, locale).values()];
    const { author, text } = locale.startsWith('de') ? GERMAN : ENGLISH;
    const typed = ids.map((section): TypedComment => {
      const [first, ...others] = references.filter((each) => each.section === section);
      const change = others.find(({ name }) => name === `${first?.name}.change`);
      const figures =
        first === undefined ? '' : `: ${[first, ...(change ? [change] : [])].map(referenceText).join(', ')}`;
      return { section, author, at: now, text: text(figures) };
    });
    return withComments(dataset, typed, locale);
  };
