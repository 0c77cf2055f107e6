import { DocketError } from '../base/error.ts';
import { fillPath, PATH_RULES } from '../base/path.ts';
import { canonicalHost, isPrivateHost } from '../base/private-address.ts';
import { checkSubject } from '../base/subject.ts';
import { fillTemplate } from '../base/template.ts';
import type { ReportFile } from './definition.ts';
import { type Fault, show } from './fault.ts';
import type { OrgSettings } from './org.ts';
import { faultAt } from './parse.ts';
import type { Path, Source } from './source.ts';
import type { DeliverySpec } from './target.ts';

/** Names as long as they can become, so that a path that fits at check fits whenever the report is due. */
const LONGEST = 115;
const TWO_FILES = [`${'a'.repeat(LONGEST)}.xlsx`, `${'b'.repeat(LONGEST)}.xlsx`] as const;

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
const severalFiles = ({ outputs }: ReportFile): boolean => outputs.length > 1 || outputs[0]?.format === 'csv';

/**
 * What is wrong with the outputs and targets of a report that each of their fields alone does not show: names, subjects
 * and paths that cannot be filled or used once they are, keys that files would share, webhooks to where this organization's may not go.
 */
export function targetFaults(
  source: Source,
  of: { readonly org: string; readonly report: string },
  file: ReportFile,
  settings: Pick<OrgSettings, 'timezone' | 'allow_private'> | undefined,
): Fault[] {
  const timezone = file.timezone ?? settings?.timezone ?? 'Europe/Zurich';
  const variables = (name: string) => sampleVariables(of.org, of.report, file.title, timezone, name);
  const filled = (template: string, name: string) =>
    filledOr(template, () => fillPath(template, variables(name), 'the path'));
  const textFaults = (path: Path, template: string | undefined, fill: (template: string) => string): Fault[] => {
    if (template === undefined) return [];
    const made = filledOr(template, () => fill(template));
    return typeof made === 'string' ? [] : [faultAt(source, path, made)];
  };
  const pathFaults = (path: Path, template: string): Fault[] => {
    const made = filled(template, TWO_FILES[0]);
    return typeof made === 'string' ? [] : [faultAt(source, path, made)];
  };

  const keyFaults = (path: Path, template: string): Fault[] => {
    const wrong = pathFaults(path, template);
    if (wrong.length > 0) return wrong;
    const [one, other] = TWO_FILES.map((name) => filled(template, name));
    if (String(one).startsWith('/')) {
      const expected = 'a key that does not begin with "/"';
      return [faultAt(source, path, { expected, got: show(template), next: 'remove the "/" in front' })];
    }
    if (!severalFiles(file) || one !== other) return [];
    return [
      faultAt(source, path, {
        expected: 'a key of its own for each file of the report',
        got: `${show(template)}, the same for all of them`,
        next: 'put {{ file.name }} into the key',
      }),
    ];
  };

  const names = file.outputs.flatMap(({ name }, index) =>
    textFaults(['outputs', index, 'name'], name, (template) =>
      fillTemplate(template, { ...variables(''), section: longestSection(file) }, 'the name'),
    ),
  );
  const targets = file.deliveries.flatMap((delivery: DeliverySpec, index): Fault[] => {
    const at = (...rest: string[]): Path => ['deliveries', index, ...rest];
    if (delivery.email !== undefined)
      return textFaults(at('email', 'subject'), delivery.email.subject, (template) =>
        checkSubject(template, variables(''), 'the subject'),
      );
    if (delivery.directory !== undefined) return pathFaults(at('directory', 'path'), delivery.directory.path);
    if (delivery.s3 !== undefined) return keyFaults(at('s3', 'key'), delivery.s3.key);
    if (delivery.sftp !== undefined) return pathFaults(at('sftp', 'path'), delivery.sftp.path);
    if (delivery.webhook === undefined || settings?.allow_private === true) return [];
    const wrong = webhookFault(delivery.webhook.url);
    return wrong === undefined ? [] : [faultAt(source, at('webhook', 'url'), wrong)];
  });
  return [...names, ...targets];
}

type Wrong = Omit<Fault, 'file' | 'line' | 'column'>;

/** What a template makes, or why it makes nothing that can be used. */
function filledOr(template: string, fill: () => string): string | Wrong {
  try {
    return fill();
  } catch (error) {
    if (!(error instanceof DocketError)) throw error;
    const path = error.code === 'deliver.target_refused';
    return {
      message: error.message.replace(/\.$/, ''),
      expected: path ? PATH_RULES : (error.expected ?? 'a template that can be filled'),
      got: path && error.got !== undefined ? error.got : show(template),
      next: 'correct the template',
    };
  }
}

/** The section whose CSV file has the longest name. */
function longestSection({ sections }: ReportFile): { readonly id: string; readonly title: string } {
  const titled = sections.map(({ id, title = id }) => ({ id, title }));
  return titled.reduce((longest, next) => (next.title.length > longest.title.length ? next : longest));
}

const ALLOW = 'if it is right, write "allow_private: true" into org.yaml';

/** What can be told of the URL without asking the name server; the delivery checks the address that it connects to. */
export function webhookFault(url: unknown): Omit<Fault, 'file' | 'line' | 'column'> | undefined {
  if (typeof url !== 'string') return undefined;
  const { protocol, hostname, origin } = new URL(url);
  if (isPrivateHost(canonicalHost(hostname))) {
    const expected = 'an address on the public internet';
    return { message: 'a webhook to a private address', expected, got: show(origin), next: ALLOW };
  }
  if (protocol === 'https:') return undefined;
  return { expected: 'https: what a webhook tells is read on the way otherwise', got: show(origin), next: ALLOW };
}
