import { DocketError } from '../../base/error.ts';
import { PATH_RULES, renderPath } from '../../base/files/safe-path.ts';
import { renderTemplate } from '../../base/text/template.ts';
import {
  type DefinitionKinds,
  type DiagnosticContext,
  type DiagnosticText,
  type LocatedDiagnostic,
  resolveTarget,
} from '../schema/kinds.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import { makesSeveralFiles } from '../schema/outputs.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile, ValuePath } from '../yaml/source-file.ts';
import { type Diagnostic, describeValue } from './diagnostic.ts';

/** The longest possible name, so that a path that fits in a check fits in every run. */
const MAX_NAME_LENGTH = 115;
export const SAMPLE_FILE_NAMES = [
  `${'a'.repeat(MAX_NAME_LENGTH)}.xlsx`,
  `${'b'.repeat(MAX_NAME_LENGTH)}.xlsx`,
] as const;

/** A value with the longest possible names. */
export const SAMPLE_SPLIT = { value: 'Retail', label: 'Retail', slug: `${'a'.repeat(40)}-0123456789` };
const SAMPLE_HEADLINE = 'Reviews overdue: 62, target 0, breached (8 more than the week before)';

/** The variables for a run's paths, with a period that has the longest possible label. */
export const sampleVariables = (org: string, report: string, title: string, timezone: string, file: string) => ({
  period: { from: '2026-11-09', to: '2026-11-15', label: '2026-11-09 to 2026-11-15', timezone },
  org,
  report,
  title,
  run: '0'.repeat(32),
  headline: SAMPLE_HEADLINE,
  headlines: [SAMPLE_HEADLINE],
  file: { name: file },
});

/**
 * Errors of outputs and deliveries that no single field shows: names, subjects and paths that cannot be filled or used,
 * object keys that several files share, webhooks to addresses that the organization may not use.
 */
export function deliveryDiagnostics(
  source: SourceFile,
  { org, report }: { readonly org: string; readonly report: string },
  file: ReportFile,
  settings: Pick<OrgSettings, 'timezone' | 'allow_private'> | undefined,
  { targets, formats }: DefinitionKinds,
): Diagnostic[] {
  const timezone = file.timezone ?? settings?.timezone ?? 'Europe/Zurich';
  const context: DiagnosticContext = {
    variables: (name) => ({
      ...sampleVariables(org, report, file.title, timezone, name),
      ...(file.split === undefined ? {} : { split: SAMPLE_SPLIT }),
    }),
    severalFiles: (files) => makesSeveralFiles(file, formats, files),
    allowPrivate: settings?.allow_private === true,
  };
  const located =
    (base: ValuePath) =>
    ({ path, ...text }: LocatedDiagnostic): Diagnostic =>
      diagnosticAt(source, [...base, ...path], { code: 'template.invalid', ...text });
  const section = longestSection(file);
  const names = file.outputs.flatMap(({ name }, index) =>
    templateDiagnostics(['name'], name, (template) =>
      renderTemplate(template, { ...context.variables(''), section }, 'the name'),
    ).map(located(['outputs', index])),
  );
  const deliveries = file.deliveries.flatMap((delivery, index) => {
    const { target, spec } = resolveTarget(delivery, targets);
    return target.diagnostics(spec, context).map(located(['deliveries', index, target.kind]));
  });
  return [...names, ...deliveries];
}

/** The error of a template that cannot be filled; none for an absent field. */
export function templateDiagnostics(
  path: ValuePath,
  template: string | undefined,
  fill: (template: string) => string,
): readonly LocatedDiagnostic[] {
  if (template === undefined) return [];
  const filled = fillOrDiagnostic(template, () => fill(template));
  return typeof filled === 'string' ? [] : [{ path, ...filled }];
}

/** The error of a file path that cannot be filled or used. */
export const pathDiagnostics = (
  path: ValuePath,
  template: string,
  { variables }: DiagnosticContext,
): readonly LocatedDiagnostic[] =>
  templateDiagnostics(path, template, (text) => renderPath(text, variables(SAMPLE_FILE_NAMES[0]), 'the path'));

function fillOrDiagnostic(template: string, fill: () => string): string | DiagnosticText {
  try {
    return fill();
  } catch (error) {
    if (!(error instanceof DocketError)) throw error;
    const path = error.code === 'deliver.target_refused';
    return {
      message: error.message.replace(/\.$/, ''),
      expected: path ? PATH_RULES : (error.expected ?? 'a template that can be filled'),
      got: path && error.got !== undefined ? error.got : describeValue(template),
      next: 'correct the template',
    };
  }
}

/** The section whose files have the longest names. */
function longestSection({ sections }: ReportFile): { readonly id: string; readonly title: string } {
  const titled = sections.map(({ id, title = id }) => ({ id, title }));
  return titled.reduce((longest, next) => (next.title.length > longest.title.length ? next : longest));
}
