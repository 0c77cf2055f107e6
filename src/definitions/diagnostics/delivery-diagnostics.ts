import { DocketError } from '../../base/error.ts';
import { PATH_RULES, renderPath } from '../../base/files/safe-path.ts';
import { isPrivateHost, normalizeHost } from '../../base/net/private-address.ts';
import { renderNonEmptySubject } from '../../base/text/email-subject.ts';
import { renderTemplate } from '../../base/text/template.ts';
import type { DeliverySpec } from '../schema/deliveries.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile, ValuePath } from '../yaml/source-file.ts';
import { type Diagnostic, describeValue } from './diagnostic.ts';

/** Names as long as they can become, so that a path that fits at check fits whenever the report is due. */
const MAX_NAME_LENGTH = 115;
const SAMPLE_FILE_NAMES = [`${'a'.repeat(MAX_NAME_LENGTH)}.xlsx`, `${'b'.repeat(MAX_NAME_LENGTH)}.xlsx`] as const;

/** What a run fills a path with, for a period whose label is the longest there is. */
export const sampleVariables = (org: string, report: string, title: string, timezone: string, file: string) => ({
  period: { from: '2026-11-09', to: '2026-11-15', label: '2026-11-09 to 2026-11-15', timezone },
  org,
  report,
  title,
  run: '0'.repeat(32),
  file: { name: file },
});

/** How many files the run certainly makes: a CSV has its schema beside it. */
const hasSeveralFiles = ({ outputs }: ReportFile): boolean => outputs.length > 1 || outputs[0]?.format === 'csv';

/**
 * What is wrong with the outputs and targets of a report that each of their fields alone does not show: names, subjects
 * and paths that cannot be filled or used once they are, keys that files would share, webhooks to where this organization's may not go.
 */
export function deliveryDiagnostics(
  source: SourceFile,
  of: { readonly org: string; readonly report: string },
  file: ReportFile,
  settings: Pick<OrgSettings, 'timezone' | 'allow_private'> | undefined,
): Diagnostic[] {
  const timezone = file.timezone ?? settings?.timezone ?? 'Europe/Zurich';
  const variables = (name: string) => sampleVariables(of.org, of.report, file.title, timezone, name);
  const filled = (template: string, name: string) =>
    fillOrDiagnostic(template, () => renderPath(template, variables(name), 'the path'));
  const textFaults = (
    path: ValuePath,
    template: string | undefined,
    fill: (template: string) => string,
  ): Diagnostic[] => {
    if (template === undefined) return [];
    const made = fillOrDiagnostic(template, () => fill(template));
    return typeof made === 'string' ? [] : [diagnosticAt(source, path, made)];
  };
  const pathFaults = (path: ValuePath, template: string): Diagnostic[] => {
    const made = filled(template, SAMPLE_FILE_NAMES[0]);
    return typeof made === 'string' ? [] : [diagnosticAt(source, path, made)];
  };

  const keyFaults = (path: ValuePath, template: string): Diagnostic[] => {
    const wrong = pathFaults(path, template);
    if (wrong.length > 0) return wrong;
    const [one, other] = SAMPLE_FILE_NAMES.map((name) => filled(template, name));
    if (String(one).startsWith('/')) {
      const expected = 'a key that does not begin with "/"';
      return [diagnosticAt(source, path, { expected, got: describeValue(template), next: 'remove the "/" in front' })];
    }
    if (!hasSeveralFiles(file) || one !== other) return [];
    return [
      diagnosticAt(source, path, {
        expected: 'a key of its own for each file of the report',
        got: `${describeValue(template)}, the same for all of them`,
        next: 'put {{ file.name }} into the key',
      }),
    ];
  };

  const names = file.outputs.flatMap(({ name }, index) =>
    textFaults(['outputs', index, 'name'], name, (template) =>
      renderTemplate(template, { ...variables(''), section: longestSection(file) }, 'the name'),
    ),
  );
  const targets = file.deliveries.flatMap((delivery: DeliverySpec, index): Diagnostic[] => {
    const at = (...rest: string[]): ValuePath => ['deliveries', index, ...rest];
    if (delivery.email !== undefined)
      return textFaults(at('email', 'subject'), delivery.email.subject, (template) =>
        renderNonEmptySubject(template, variables(''), 'the subject'),
      );
    if (delivery.directory !== undefined) return pathFaults(at('directory', 'path'), delivery.directory.path);
    if (delivery.s3 !== undefined) return keyFaults(at('s3', 'key'), delivery.s3.key);
    if (delivery.sftp !== undefined) return pathFaults(at('sftp', 'path'), delivery.sftp.path);
    if (delivery.webhook === undefined || settings?.allow_private === true) return [];
    const wrong = webhookDiagnostic(delivery.webhook.url);
    return wrong === undefined ? [] : [diagnosticAt(source, at('webhook', 'url'), wrong)];
  });
  return [...names, ...targets];
}

type DiagnosticText = Omit<Diagnostic, 'file' | 'line' | 'column'>;

/** What a template makes, or why it makes nothing that can be used. */
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

/** The section whose CSV file has the longest name. */
function longestSection({ sections }: ReportFile): { readonly id: string; readonly title: string } {
  const titled = sections.map(({ id, title = id }) => ({ id, title }));
  return titled.reduce((longest, next) => (next.title.length > longest.title.length ? next : longest));
}

const ALLOW_PRIVATE_HINT = 'if it is right, write "allow_private: true" into org.yaml';

/** What can be told of the URL without asking the name server; the delivery checks the address that it connects to. */
export function webhookDiagnostic(url: unknown): Omit<Diagnostic, 'file' | 'line' | 'column'> | undefined {
  if (typeof url !== 'string') return undefined;
  const { protocol, hostname, origin } = new URL(url);
  if (isPrivateHost(normalizeHost(hostname))) {
    const expected = 'an address on the public internet';
    return {
      message: 'a webhook to a private address',
      expected,
      got: describeValue(origin),
      next: ALLOW_PRIVATE_HINT,
    };
  }
  if (protocol === 'https:') return undefined;
  return {
    expected: 'https: what a webhook tells is read on the way otherwise',
    got: describeValue(origin),
    next: ALLOW_PRIVATE_HINT,
  };
}
