import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Liquid, LiquidError } from 'liquidjs';
import { DocketError } from '../base/error.ts';
import { inWords } from '../define/period.ts';
import { type Dataset, incompleteNotes } from '../fetch/dataset.ts';
import type { Artifact, MailBody } from './artifact.ts';
import { digestOf } from './digest.ts';
import { DEFAULT_LOCALE, instantText } from './format.ts';
import { counted } from './words.ts';

/** Gmail cuts a message's HTML at 102 KB; headers and encodings are not counted in ours. */
export const MAX_HTML_BYTES = 100_000;
/** Rows of each section, tried in turn until the HTML is small enough. */
const ROW_LIMITS = [10, 7, 5, 3, 0];

export interface MailOptions {
  readonly run: string;
  /** Epoch ms. */
  readonly madeAt: number;
  /** A folder of one's own, with `email/report.html.liquid` and `email/report.txt.liquid`; Docket's when absent. */
  readonly templates?: string | undefined;
  /** Formats that are attached to the mail; none when absent. */
  readonly attached?: readonly Artifact['format'][] | undefined;
  /** Why the reader gets this mail, as a sentence. */
  readonly reason?: string | undefined;
  /** BCP 47; `en-GB` when absent. */
  readonly locale?: string | undefined;
}

const HTML = 'report.html.liquid';
const TEXT = 'report.txt.liquid';

/** Docket's own templates: beside `src/` and `dist/` alike. */
const ownTemplates = (): string => fileURLToPath(new URL('../../templates', import.meta.url));

/** Each template by itself: a folder of one's own may hold only the one it changes. */
function templateFolders(templates: string | undefined): string[] {
  return [templates, ownTemplates()].filter((folder) => folder !== undefined).map((folder) => join(folder, 'email'));
}

interface Place {
  readonly file?: string;
  readonly getPosition?: () => number[];
}
const isPlace = (value: unknown): value is Place => typeof value === 'object' && value !== null;

function templateError(thrown: unknown, file: string): DocketError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const why = (message.split('\n')[0] ?? message).replace(/, (file:.*, )?line:\d+, col:\d+$/, '');
  const token: unknown = LiquidError.is(thrown) ? thrown.token : undefined;
  const position = isPlace(token) ? token.getPosition?.() : undefined;
  const where = `${isPlace(token) && token.file !== undefined ? token.file : file}${position === undefined ? '' : `:${position.join(':')}`}`;
  return new DocketError('template.invalid', `The e-mail template cannot be rendered: ${why}.`, {
    where,
    expected: 'a LiquidJS template over the data that Docket gives it',
    next: 'Correct the template, or remove it to use Docket’s own.',
    cause: thrown,
  });
}

/** Escapes everything that is printed in HTML, where a template does not say `| raw`. Unknown variables are errors. */
function engine(folders: string[], escaped: boolean): Liquid {
  return new Liquid({
    root: folders,
    strictVariables: true,
    strictFilters: true,
    lenientIf: true,
    ownPropertyOnly: true,
    ...(escaped ? { outputEscape: 'escape' as const } : {}),
  });
}

async function fill(name: string, folders: string[], data: object): Promise<string> {
  const file = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (file === undefined) {
    throw new DocketError('template.invalid', `The e-mail template ${name} is missing.`, {
      where: folders.join(', '),
      expected: `a file ${name}`,
      got: 'nothing',
      next: 'Reinstall Docket, or put the template there.',
    });
  }
  try {
    return String(await engine(folders, name === HTML).renderFile(name, data));
  } catch (thrown) {
    throw templateError(thrown, file);
  }
}

const sizeText = (bytes: number, locale: string): string =>
  bytes < 1_000_000
    ? `${new Intl.NumberFormat(locale).format(Math.max(1, Math.round(bytes / 1000)))} kB`
    : `${new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(bytes / 1_000_000)} MB`;

function elsewhereText(attached: ReadonlySet<string>): string {
  if (attached.has('xlsx')) return 'in the attached workbook';
  return attached.has('csv') ? 'in the attached CSV files' : 'in the full report';
}

/** What a template may speak of. The keys are the contract with templates of one's own; documented in `templates/`. */
function mailData(dataset: Dataset, artifacts: readonly Artifact[], options: MailOptions, maxRows: number) {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const attached = new Set<string>(options.attached ?? []);
  const titles = new Map(dataset.tables.map((table) => [table.id, table.title]));
  const digest = digestOf({ dataset, locale, maxRows, elsewhere: elsewhereText(attached) });
  const incomplete = incompleteNotes(dataset).map((note) => ({
    section: titles.get(note.section) ?? note.section,
    text: note.text,
  }));
  return {
    title: dataset.title,
    description: dataset.description ?? '',
    organization: dataset.organization,
    org: dataset.org,
    report: dataset.report,
    owner: dataset.owner,
    run: options.run,
    locale,
    period: { ...dataset.period, words: inWords(dataset.period, locale) },
    made: instantText(new Date(options.madeAt), dataset.period.timezone, locale),
    reason:
      options.reason ?? `You get this mail because ${dataset.owner} set it up for ${dataset.organization} in Docket.`,
    basis: digest.basis ?? '',
    incomplete,
    incomplete_heading: `${counted(incomplete.length, 'thing', 'things', locale)} to know before you use these figures`,
    tiles: digest.tiles,
    more_tiles: digest.moreTiles ?? '',
    sections: digest.sections.map((section) => ({ description: '', more: '', totals: [], ...section })),
    reading: digest.reading,
    files: artifacts.map((artifact) => ({
      name: artifact.name,
      size: sizeText(artifact.bytes, locale),
      attached: attached.has(artifact.format),
    })),
  };
}

/**
 * The e-mail's two bodies from `email/report.html.liquid` and `email/report.txt.liquid`: the KPI digest with what is
 * incomplete at its top. The HTML stays under Gmail's limit: sections show fewer rows until it does, and say so.
 * Throws `template.invalid` with file, line and column.
 */
export async function renderMail(
  dataset: Dataset,
  artifacts: readonly Artifact[],
  options: MailOptions,
): Promise<MailBody> {
  const folders = templateFolders(options.templates);
  for (const maxRows of ROW_LIMITS) {
    const data = mailData(dataset, artifacts, options, maxRows);
    const html = await fill(HTML, folders, data);
    if (Buffer.byteLength(html) <= MAX_HTML_BYTES) return { html, text: await fill(TEXT, folders, data) };
  }
  throw new DocketError('render.failed', 'The e-mail would be larger than mail programs show.', {
    expected: `at most ${MAX_HTML_BYTES.toLocaleString('en')} bytes of HTML`,
    got: `${dataset.tables.length} sections`,
    next: 'Split the report into several, or use a shorter e-mail template of your own.',
  });
}
