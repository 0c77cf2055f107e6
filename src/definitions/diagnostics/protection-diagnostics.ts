import { type DefinitionKinds, targetOf } from '../schema/kinds.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import type { Diagnostic } from './diagnostic.ts';

/** What a delivery sends in the clear of the figures that a password protects. */
export interface ClearFigures {
  /** Of the delivery. */
  readonly index: number;
  /** Formats of files and parts of the message, for people. */
  readonly what: readonly string[];
}

/**
 * The deliveries of a report with a protected workbook that send its figures in the clear: in other files, in the body with
 * its charts, or in the subject. Without those that say `unprotected: true`. Empty where no output has a password.
 */
export function clearFigures(
  { outputs, deliveries }: Pick<ReportFile, 'outputs' | 'deliveries'>,
  targets: DefinitionKinds['targets'],
): readonly ClearFigures[] {
  const isProtected = ({ password }: (typeof outputs)[number]) => password !== undefined;
  if (!outputs.some(isProtected)) return [];
  const clear = new Set(outputs.flatMap((output) => (isProtected(output) ? [] : [output.format])));
  return deliveries.flatMap((delivery, index): ClearFigures[] => {
    if (delivery.unprotected === true) return [];
    const { target, spec } = targetOf(delivery, targets);
    const { formats, parts } = target.describe(spec).shows ?? { formats: [], parts: [] };
    const what = [...[...clear].filter((format) => formats === 'all' || formats.includes(format)), ...parts];
    return what.length === 0 ? [] : [{ index, what }];
  });
}

/** Whether figures stay in the message and its files: with a classification, or a password for a workbook. */
export const keepsFiguresInside = (
  { classification, outputs }: Pick<ReportFile, 'classification' | 'outputs'>,
  settings: Pick<OrgSettings, 'classification'>,
): boolean =>
  (classification ?? settings.classification) !== undefined || outputs.some(({ password }) => password !== undefined);

/** Deliveries whose subject has no figure although nobody has said so: in 0.2.0 it had. Warnings. */
export const subjectAdvice = (
  source: SourceFile,
  report: Pick<ReportFile, 'classification' | 'outputs' | 'deliveries'>,
  settings: Pick<OrgSettings, 'classification'>,
  { targets }: Pick<DefinitionKinds, 'targets'>,
): readonly Diagnostic[] =>
  report.deliveries.flatMap((delivery, index): Diagnostic[] => {
    const { target, spec } = targetOf(delivery, targets);
    if (target.describe(spec).undecidedSubject !== true || !keepsFiguresInside(report, settings)) return [];
    return [
      diagnosticAt(source, ['deliveries', index], {
        expected: '"subject_figures": with a classification or a password, no headline is in the subject',
        got: 'none',
        next: 'write "subject_figures: false", or "true" if servers and locked phones may show figures',
      }),
    ];
  });

/** `clearFigures` at the places of the deliveries. An error for a definition that is new or changed, else a warning. */
export const protectionDiagnostics = (
  source: SourceFile,
  report: Pick<ReportFile, 'outputs' | 'deliveries'>,
  { targets }: Pick<DefinitionKinds, 'targets'>,
): readonly Diagnostic[] =>
  clearFigures(report, targets).map(({ index, what }) =>
    diagnosticAt(source, ['deliveries', index], {
      code: 'delivery.unprotected',
      message: 'a password protects the workbook, and this delivery sends its figures in the clear',
      expected: 'a delivery of the workbook alone, or "unprotected: true" beside its target',
      got: what.join(', '),
      next: 'send the protected workbook alone (e-mail: body: notice), or write "unprotected: true" if it is meant',
    }),
  );
