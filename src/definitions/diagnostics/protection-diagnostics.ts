import { type DefinitionKinds, resolveTarget } from '../schema/kinds.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import type { Diagnostic } from './diagnostic.ts';

/** The parts of a delivery that send figures of a protected workbook without protection. */
export interface ClearFigures {
  /** Index of the delivery. */
  readonly index: number;
  /** Formats of files and parts of the message, in words. */
  readonly what: readonly string[];
}

/**
 * Finds deliveries that send figures of a protected workbook without protection: in other files, in the body with its
 * charts, or in the subject. Deliveries with `unprotected: true` are not included. Empty if no output has a password.
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
    const { target, spec } = resolveTarget(delivery, targets);
    const { formats, parts } = target.describe(spec).shows ?? { formats: [], parts: [] };
    const what = [...[...clear].filter((format) => formats === 'all' || formats.includes(format)), ...parts];
    return what.length === 0 ? [] : [{ index, what }];
  });
}

/**
 * Whether figures must stay inside the message and its files: the report has a classification, or a workbook with a
 * password.
 */
export const keepsFiguresInside = (
  { classification, outputs }: Pick<ReportFile, 'classification' | 'outputs'>,
  settings: Pick<OrgSettings, 'classification'>,
): boolean =>
  (classification ?? settings.classification) !== undefined || outputs.some(({ password }) => password !== undefined);

/**
 * Warns about deliveries whose subject contains no figure although the definition does not decide this: up to version
 * 0.2.0 it did.
 */
export const subjectAdvice = (
  source: SourceFile,
  report: Pick<ReportFile, 'classification' | 'outputs' | 'deliveries'>,
  settings: Pick<OrgSettings, 'classification'>,
  { targets }: Pick<DefinitionKinds, 'targets'>,
): readonly Diagnostic[] =>
  report.deliveries.flatMap((delivery, index): Diagnostic[] => {
    const { target, spec } = resolveTarget(delivery, targets);
    if (target.describe(spec).undecidedSubject !== true || !keepsFiguresInside(report, settings)) return [];
    return [
      diagnosticAt(source, ['deliveries', index], {
        expected: '"subject_figures": with a classification or a password, no headline is in the subject',
        got: 'none',
        next: 'write "subject_figures: false", or "true" if servers and locked phones may show figures',
      }),
    ];
  });

/**
 * Reports `clearFigures` at the positions of the deliveries: as an error if the definition is new or changed, otherwise
 * as a warning.
 */
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
