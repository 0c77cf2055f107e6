import { renderTemplate } from '../../base/text/template.ts';
import { addressKey, recipientRefusal } from '../allow-lists/recipients.ts';
import { type DefinitionKinds, describeDelivery } from '../schema/kinds.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import type { SplitSettings } from '../schema/split.ts';
import { isSplitSection, isToSplit } from '../split.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile, SourceNode, ValuePath } from '../yaml/source-file.ts';
import { SAMPLE_SPLIT, sampleVariables, templateDiagnostics } from './delivery-diagnostics.ts';
import { type Diagnostic, describeValue } from './diagnostic.ts';

type Text = Pick<Diagnostic, 'expected' | 'got' | 'next' | 'code'>;

/** Reports what a report with `split` may not have, and what only such a report may have. */
export function splitDiagnostics(source: SourceFile, report: ReportFile, { targets }: DefinitionKinds): Diagnostic[] {
  const { split, sections, deliveries, outputs } = report;
  const found: Diagnostic[] = [];
  const add = (path: ValuePath, text: Text): void => {
    found.push(diagnosticAt(source, path, { code: 'split.invalid', ...text }));
  };
  if (split === undefined) {
    const expected = 'a report with "split"';
    sections.forEach((section, index) => {
      if (section.split === undefined) return;
      add(['sections', index, 'split'], { expected, got: 'a report without it', next: 'remove it, or add split' });
    });
    deliveries.forEach((delivery, index) => {
      const path = splitPath(delivery);
      if (path === undefined) return;
      add(['deliveries', index, ...path], { expected, got: 'a report without it', next: 'remove it, or add split' });
    });
    return found;
  }
  const [title] = report.title.includes('{{')
    ? templateDiagnostics([], report.title, (text) => renderTemplate(text, { split: SAMPLE_SPLIT }, 'the title'))
    : [];
  if (title !== undefined) found.push(diagnosticAt(source, ['title'], { ...title, code: 'template.invalid' }));
  const unsupported = (path: ValuePath, what: string, next: string) =>
    add(path, { code: 'split.not_supported', expected: `no ${what} in a report with "split"`, got: what, next });
  outputs.forEach((output, index) => {
    if (output.template === undefined) return;
    unsupported(
      ['outputs', index, 'template'],
      '"template"',
      'remove it: this version does not fill it for each value',
    );
  });
  sections.forEach((section, index) => {
    const { list, filters = [], dimensions = [], layout } = section;
    const at = ['sections', index];
    if (list !== undefined && isSplitSection(section)) {
      add([...at, 'list'], {
        expected: 'split: false in a section with a list: it has the rows of all values',
        got: 'a list in the pack of one value',
        next: 'write split: false if every recipient may see all rows, or move it into a report of its own',
      });
    }
    filters.forEach(({ dimension }, position) => {
      if (dimension !== split.by) return;
      add([...at, 'filters', position], {
        expected: `no filter on "${split.by}": "split" selects its values`,
        got: 'one',
        next: 'remove the filter',
      });
    });
    const others = dimensions.filter((id) => id !== split.by);
    if (isSplitSection(section) && others.length > 1) {
      add([...at, 'dimensions'], {
        expected: `at most one dimension besides "${split.by}"`,
        got: others.join(', '),
        next: 'write split: false for the section, or group by one dimension',
      });
    }
    if (!isSplitSection(section) && layout !== 'text' && dimensions.includes(split.by)) {
      add([...at, 'dimensions'], {
        expected: `no rows of single values of "${split.by}" in a section that is the same in every pack`,
        got: `grouped by "${split.by}"`,
        next: 'remove split: false, or group by something else',
      });
    }
  });
  if (!sections.some(isSplitSection)) {
    add(['split'], {
      expected: 'a section without split: false',
      got: 'none',
      next: 'remove "split", or split a section',
    });
  }
  deliveries.forEach((delivery, index) => {
    const { kind, writes } = describeDelivery(delivery, targets);
    const at = ['deliveries', index];
    if (splitPath(delivery) === undefined) {
      add([...at, kind], {
        expected: 'to: split, or split: true beside the target: every delivery is of one pack',
        got: 'neither',
        next: 'add one; a pack of all values is another report',
      });
    } else if (writes !== undefined && !namesPack(writes.template)) {
      add([...at, kind], {
        expected: 'a path with the whole {{ split.slug }}: every value has its own place',
        got: describeValue(writes.template),
        next: 'add {{ split.slug }} to the path',
      });
    }
  });
  found.push(...keyDiagnostics(source), ...addressDiagnostics(source, split, malformed));
  return found;
}

const SAMPLE_SLUGS = [SAMPLE_SPLIT.slug, 'b-9876543210'];

/**
 * Whether the files of every value have a separate path, because it contains the whole slug. A path that cannot be
 * filled is reported elsewhere.
 */
function namesPack(template: string): boolean {
  const variables = sampleVariables('acme', 'report', 'Title', 'UTC', 'name');
  try {
    return SAMPLE_SLUGS.every((slug) =>
      renderTemplate(template, { ...variables, split: { ...SAMPLE_SPLIT, slug } }, 'the path').includes(slug),
    );
  } catch {
    return true;
  }
}

/** Where a delivery says that it is for each value; undefined if it does not. */
function splitPath(delivery: ReportFile['deliveries'][number]): ValuePath | undefined {
  if (delivery.split !== undefined) return ['split'];
  const [kind] = Object.entries(delivery).find(([, spec]) => isToSplit(spec)) ?? [];
  return kind === undefined ? undefined : [kind, 'to'];
}

/** Unquoted keys that YAML, or people, do not read as text. */
const AMBIGUOUS_KEY = /^(y|n|yes|no|on|off|true|false|null|~|[-+.\d][\d._:eExXa-fA-F+-]*)$/i;

function keyDiagnostics(source: SourceFile): Diagnostic[] {
  const fields = fieldOf(fieldOf(source.tree, 'split'), 'to')?.fields ?? new Map();
  return [...fields].flatMap(([name, { key, keyEnd }]) => {
    const written = key === undefined || keyEnd === undefined ? '' : source.text.slice(key, keyEnd);
    if (!AMBIGUOUS_KEY.test(written)) return [];
    return diagnosticAt(source, ['split', 'to', name], {
      code: 'split.invalid',
      expected: 'a value in quotes where it may be read as something else than text',
      got: written,
      next: `quote it: "${written}"`,
    });
  });
}

const fieldOf = (node: SourceNode | undefined, name: string): SourceNode | undefined => node?.fields?.get(name)?.value;

const malformed = (address: string): Text | undefined =>
  addressKey(address) === undefined
    ? {
        code: 'recipient.invalid',
        expected: 'a plain e-mail address (name@domain.example)',
        got: describeValue(address),
        next: 'write the address alone, without a display name',
      }
    : undefined;

/**
 * Warns about addresses in `split` that the organization does not allow: deliveries to them are refused, all others are
 * sent.
 */
export const splitRecipientWarnings = (
  source: SourceFile,
  { split }: ReportFile,
  { recipients }: Pick<OrgSettings, 'recipients'>,
): Diagnostic[] =>
  split === undefined
    ? []
    : addressDiagnostics(source, split, (address) =>
        recipientRefusal(address, recipients) === undefined
          ? undefined
          : {
              code: 'recipient.not_allowed',
              expected: "one of the organization's recipients",
              got: describeValue(address),
              next: "remove it, or ask for it to be added to recipients in the organization's org.yaml: until then its pack is not sent",
            },
      );

function addressDiagnostics(
  source: SourceFile,
  { to, others }: SplitSettings,
  faultOf: (address: string) => Text | undefined,
): Diagnostic[] {
  const lists: [ValuePath, readonly string[]][] = [
    ...(typeof to === 'string' ? [] : Object.entries(to)).map(([value, list]): [ValuePath, readonly string[]] => [
      // Lines of a list file have no position in this file.
      fieldOf(fieldOf(source.tree, 'split'), 'to')?.fields === undefined ? ['split', 'to'] : ['split', 'to', value],
      list,
    ]),
    ...(Array.isArray(others) ? [[['split', 'others'], others] as [ValuePath, readonly string[]]] : []),
  ];
  return lists.flatMap(([path, list]) =>
    list.flatMap((address, index) => {
      const fault = faultOf(address);
      return fault === undefined
        ? []
        : [diagnosticAt(source, path.length === 2 && path[1] === 'to' ? path : [...path, index], fault)];
    }),
  );
}
