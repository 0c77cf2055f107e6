import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Diagnostic, fileDiagnostic } from '../definitions/diagnostics/diagnostic.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import { TEMPLATES } from './email/template.ts';
import { MAIN_TEMPLATE, PACK_FOLDER, readOwnTemplates } from './formats/pdf/pack-templates.ts';

/** The parts of a report that comments, approval and corrections depend on. */
type ReviewedReport = Pick<Definition, 'org' | 'report' | 'approval' | 'corrections' | 'sections' | 'outputs'> & {
  readonly deliveries: readonly object[];
};

/** The variables that show comments, approval and corrections, in e-mails and PDFs alike. */
const REVIEW_VARIABLES = ['comments', 'approval', 'correction'] as const;
type ReviewVariable = (typeof REVIEW_VARIABLES)[number];

/** A template in the organization's folder, with a check whether it mentions a variable. */
interface OwnTemplate {
  readonly file: string;
  readonly code: string;
  readonly documentation: string;
  readonly shows: (report: ReviewedReport) => boolean;
}

/**
 * Warns about the organization's own templates that do not show comments, the approval or the correction of a report
 * that uses these: the templates may be older than the feature. One warning for each template.
 * @param folder the value of `DOCKET_TEMPLATES`
 */
export async function reviewTemplateWarnings(
  folder: string,
  reports: readonly ReviewedReport[],
): Promise<Diagnostic[]> {
  const templates = [...emailTemplates(folder), ...(await packTemplates(folder))];
  return templates.flatMap(({ file, code, documentation, shows }) => {
    const lacking = REVIEW_VARIABLES.filter((name) => !new RegExp(`\\b${name}\\b`).test(code));
    const concerned = reports.filter((report) => shows(report) && lacking.some((name) => has(report, name)));
    const [first] = concerned;
    if (first === undefined) return [];
    const missing = lacking.filter((name) => concerned.some((report) => has(report, name)));
    const more = concerned.length === 1 ? '' : ` and ${concerned.length - 1} more`;
    return [
      {
        ...fileDiagnostic(
          file,
          `the variables ${missing.join(', ')}, for ${first.org}/${first.report}${more}`,
          'a template that does not show them',
          `copy their lines from the built-in template, as ${documentation} describes them`,
        ),
        message: 'a template of your own that leaves out comments, approval or corrections',
      },
    ];
  });
}

const has = ({ approval, corrections, sections }: ReviewedReport, name: ReviewVariable): boolean => {
  if (name === 'approval') return approval !== undefined;
  if (name === 'correction') return corrections !== undefined;
  // Approvers may also comment on reports whose sections have no `commentary`.
  return approval !== undefined || sections.some(({ commentary }) => commentary !== undefined);
};

const LIQUID = /\{\{.*?\}\}|\{%.*?%\}/gs;

/** Only Liquid tags count: words outside of them are plain text. */
const emailTemplates = (folder: string): readonly OwnTemplate[] =>
  Object.values(TEMPLATES).flatMap((name) => {
    const file = join(folder, 'email', name);
    if (!existsSync(file)) return [];
    return {
      file,
      code: (readFileSync(file, 'utf8').match(LIQUID) ?? []).join('\n'),
      documentation: 'templates/README.md',
      shows: ({ deliveries }) => deliveries.some((delivery) => 'email' in delivery),
    };
  });

/** The folder's `pack.typ`, with all other templates there. Without one, the built-in `pack.typ` shows everything. */
async function packTemplates(folder: string): Promise<readonly OwnTemplate[]> {
  const files = (await readOwnTemplates(folder)).filter(({ path }) => path.endsWith('.typ'));
  if (!files.some(({ path }) => path === MAIN_TEMPLATE)) return [];
  const texts = files.map(({ bytes }) => Buffer.from(bytes).toString('utf8'));
  return [
    {
      file: join(folder, PACK_FOLDER, MAIN_TEMPLATE),
      code: texts.join('\n').replaceAll(/^\s*\/\/.*$/gm, ''),
      documentation: 'docs/how-to/design-pdf.md',
      shows: ({ outputs }) => outputs.some(({ format }) => format === 'pdf'),
    },
  ];
}
