import { join } from 'node:path';
import { DocketError } from '../../../base/error.ts';
import { MAIN_TEMPLATE, PACK_FOLDER, type PackTemplates } from './pack-templates.ts';
import { type TypstLimit, TypstLimitError } from './typst/typst-compiler.ts';
import type { TypstDiagnostic } from './typst/typst-job.ts';

export const EXPECTED_TEMPLATE = 'Typst over the data that docs/how-to/design-pdf.md lists, within its own folder';
const NEXT = 'correct the template';

/** An error of a template, with its place. */
export interface TemplateIssue {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** One sentence without its full stop. */
  readonly message: string;
  readonly next: string;
}

const LIMITS: Readonly<Record<TypstLimit, string>> = {
  deadline: 'it was not laid out within 20 seconds',
  memory: 'it needs more than 768 MB of memory',
};

const mainFile = ({ files }: PackTemplates): string =>
  files.find(({ path }) => path === MAIN_TEMPLATE)?.file ?? join(PACK_FOLDER, MAIN_TEMPLATE);

/** A template that exceeded a limit. */
export const limitIssue = (limit: TypstLimit, templates: PackTemplates): TemplateIssue => ({
  file: mainFile(templates),
  line: 1,
  column: 1,
  message: LIMITS[limit],
  next: 'look for loops that do not end or grow with each page',
});

/** The first error of Typst, in the file that it is in. */
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

/** Throws for the first error of the templates: the organization's own, or ours. */
export function throwIssue({ file, line, column, message, next }: TemplateIssue, { custom }: PackTemplates): never {
  throw new DocketError(custom ? 'template.invalid' : 'render.failed', `The PDF could not be laid out: ${message}.`, {
    where: `${file}:${line}:${column}`,
    expected: EXPECTED_TEMPLATE,
    next: custom
      ? `${next.charAt(0).toUpperCase()}${next.slice(1)} (\`docket check\` validates it), or remove it to use the built-in one.`
      : 'Report this as a defect of Docket. Remove the output `pdf` to run the report without it.',
  });
}

/** What a limit error becomes; anything else is thrown as it is. */
export function rethrowLimit(thrown: unknown, templates: PackTemplates): never {
  if (thrown instanceof TypstLimitError) throwIssue(limitIssue(thrown.limit, templates), templates);
  throw thrown;
}
