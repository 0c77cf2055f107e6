import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { DocketError } from '../../../base/error.ts';
import type { PackData } from './data/pack-data.ts';
import { MAIN_TEMPLATE, PACK_FOLDER, type PackTemplates } from './pack-templates.ts';
import { type TypstLimit, TypstLimitError } from './typst/typst-compiler.ts';
import type { TypstDiagnostic } from './typst/typst-job.ts';

export const EXPECTED_TEMPLATE = 'Typst over the data that docs/how-to/design-pdf.md lists, within its own folder';
const NEXT = 'correct the template';

/** An error in a template, with its position. */
export interface TemplateIssue {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** One sentence, without its full stop. */
  readonly message: string;
  readonly next: string;
}

const LIMITS: Readonly<Record<TypstLimit, string>> = {
  deadline: 'it was not laid out within 20 seconds of processor time',
  wall: 'it was not laid out within 5 minutes, because the machine is busy',
  memory: 'it needs more than 768 MB of memory',
};

const mainFile = ({ files }: PackTemplates): string =>
  files.find(({ path }) => path === MAIN_TEMPLATE)?.file ?? join(PACK_FOLDER, MAIN_TEMPLATE);

const LIMIT_TEXT = 'at most 20 seconds of processor time, 5 minutes and 768 MB of memory';

/** The error for a template that exceeded a limit. */
export const limitIssue = (limit: TypstLimit, templates: PackTemplates): TemplateIssue => ({
  file: mainFile(templates),
  line: 1,
  column: 1,
  message: LIMITS[limit],
  next: 'look for loops that do not end or grow with each page',
});

/** Typst's first error, with the file that contains it. */
export function typstIssue(
  { message, path, line, column, hints }: TypstDiagnostic,
  templates: PackTemplates,
): TemplateIssue {
  const file = templates.files.find((each) => each.path === path)?.file ?? mainFile(templates);
  const text = message.replaceAll(/\s+/g, ' ').replace(/\.$/, '');
  const refused =
    /^(file not found|access denied|failed to load file|cannot read file|package not found|failed to download)/i.test(
      text,
    );
  return {
    file,
    line,
    column,
    message: text,
    next: refused
      ? 'read only files of the template folder; packages and other files cannot be read'
      : (hints[0]?.replaceAll(/\s+/g, ' ') ?? NEXT),
  };
}

/** Throws the first error in the templates, whether they are the organization's own or Docket's. */
export function throwIssue({ file, line, column, message, next }: TemplateIssue, { custom }: PackTemplates): never {
  throw new DocketError(custom ? 'template.invalid' : 'render.failed', `The PDF could not be laid out: ${message}.`, {
    where: `${file}:${line}:${column}`,
    expected: EXPECTED_TEMPLATE,
    next: custom
      ? `${next.charAt(0).toUpperCase()}${next.slice(1)} (\`docket check\` validates it), or remove it to use the built-in one.`
      : 'Report this as a defect of Docket. Remove the output `pdf` to run the report without it.',
  });
}

/**
 * Replaces a limit error; any other error is thrown unchanged. If the organization's own template needs too much, it is
 * wrong. Without one, the report is large or the machine is busy, so another attempt may succeed. If the machine gave
 * the process no time to run, that is an outage.
 */
export function rethrowLimit(thrown: unknown, templates: PackTemplates, data: PackData): never {
  if (!(thrown instanceof TypstLimitError)) throw thrown;
  const { limit } = thrown;
  if (templates.custom && limit !== 'wall') throwIssue(limitIssue(limit, templates), templates);
  const [load = 0] = loadavg();
  throw new DocketError('render.failed', `The PDF could not be laid out: ${LIMITS[limit]}.`, {
    expected: LIMIT_TEXT,
    got: `${describeSize(data)}; ${load.toFixed(1)} processes running or waiting, ${availableParallelism()} processors`,
    next:
      limit === 'wall'
        ? 'Reduce the load of the machine. A worker retries by itself.'
        : 'If it fails again, shorten the report: set `print: false` in its longest sections, or a lower `limit` or `top`.',
    retryable: true,
    transient: limit === 'wall',
  });
}

function describeSize({ sections, summaryComments, comments }: PackData): string {
  const cells = sections
    .flatMap(({ tables }) => tables)
    .reduce((sum, { headers, rows }) => sum + headers.length * rows.length, 0);
  const commented = sections.reduce(
    (sum, each) => sum + each.comments.length,
    summaryComments.length + comments.length,
  );
  return `${count(sections.length, 'section')}, ${count(cells, 'cell')}, ${count(commented, 'comment')}`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
