import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { z } from 'zod';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { formatDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import { orgFileSchema } from '../../../src/definitions/schema/org-settings.ts';
import { parseYaml } from '../../../src/definitions/yaml/parse-yaml.ts';
import { locate } from '../../../src/definitions/yaml/source-file.ts';
import { cases, within } from '../../support/fuzz.ts';
import { ORG, REPORT } from '../../support/jobs-folder.ts';

/** Checks that there is a value or errors, and that each error is readable and inside the text. */
function check(text: string, schema: z.ZodType): boolean {
  const { source, value, diagnostics } = parseYaml('acme/weekly.yaml', text, schema);
  expect(value === undefined).toBe(diagnostics.length > 0);
  const lines = text.split('\n');
  for (const fault of diagnostics) {
    const line = lines[fault.line - 1];
    expect(line, `line ${fault.line} of ${lines.length}`).toBeDefined();
    expect(fault.column).toBeGreaterThanOrEqual(1);
    expect(fault.column).toBeLessThanOrEqual((line?.length ?? 0) + 1);
    for (const part of [fault.expected, fault.got, fault.next]) expect(part).not.toBe('');
    const shown = formatDiagnostic(fault);
    expect(shown).toMatch(/^acme\/weekly\.yaml:\d+:\d+: /);
    expect(shown).not.toMatch(/Invalid input|undefined(?! (filter|variable))|\[object|expected another value/);
    expect(shown).not.toMatch(/[\p{Cc}\u2028\u200f\u202e\u2066]/u);
  }
  expect(locate(source, ['sections', 3, 'metrics', 1]).line).toBeLessThanOrEqual(lines.length);
  return diagnostics.length === 0;
}

const schemas = fc.constantFrom(reportFileSchema, orgFileSchema);
const NAMES = [
  ...Object.keys(reportFileSchema.shape),
  ...Object.keys(orgFileSchema.shape),
  ...[
    'id',
    'metrics',
    'dimensions',
    'list',
    'filters',
    'values',
    'op',
    'dimension',
    'granularity',
    'order',
    'by',
    'chart',
    'limit',
  ],
  ...[
    'format',
    'name',
    'email',
    'to',
    'attach',
    'directory',
    's3',
    'path',
    'cron',
    'timezone',
    'from',
    'env',
    'file',
    'url',
    'domains',
  ],
  ...['__proto__', 'constructor', '<<', '', 'ünïcode', 'a: b', '- x'],
];
const VALUES = [
  'xlsx',
  'csv',
  'day',
  'previous_week',
  '0 8 * * MON',
  'Europe/Zurich',
  'current',
  'profiles',
  '2026-11-01',
  'a@b.example',
  'eq',
  'line',
];
const leaf = fc.oneof(
  fc.constantFrom(...VALUES),
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    leaf,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('tree'), { maxKeys: 8 }),
  ),
}));

const EXAMPLE = {
  version: 1,
  title: 'Weekly',
  owner: 'ops@acme.example',
  period: 'previous_week',
  sections: [{ id: 'a', metrics: ['profiles.created'] }],
  outputs: [{ format: 'csv' }],
};

describe('a file gives a value or errors inside the file, whether it contains', { timeout: within(3) }, () => {
  test('any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), schemas, (text, schema) => void check(text, schema)),
      cases(500),
    );
  });

  test('text of YAML characters', () => {
    const unit = fc.constantFrom(...'{}[]:,-?&*!|>%@`"\'# \n\t\r\\~<=ab1é\u2028\u202e\u2066'.split(''));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 120 }), schemas, (text, schema) => void check(text, schema)),
      cases(2000),
    );
  });

  test('any tree of fields and values', () => {
    fc.assert(
      fc.property(tree, schemas, (value, schema) => void check(stringify(value), schema)),
      cases(1000),
    );
  });

  test('a definition with one place changed', () => {
    const edit = fc.tuple(
      fc.nat(),
      fc.nat({ max: 12 }),
      fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom(...NAMES, ...VALUES, '\n', '  ', '- ', ': ', '[', '{')),
    );
    fc.assert(
      fc.property(edit, fc.boolean(), ([at, cut, put], report) => {
        const text = report ? REPORT : ORG;
        const start = at % text.length;
        check(text.slice(0, start) + put + text.slice(start + cut), report ? reportFileSchema : orgFileSchema);
      }),
      cases(1500),
    );
  });

  test('a definition with one value replaced by any tree', () => {
    const fields = Object.keys(reportFileSchema.shape);
    fc.assert(
      fc.property(fc.constantFrom(...fields), tree, (field, value) => {
        check(stringify({ ...EXAMPLE, [field]: value }), reportFileSchema);
      }),
      cases(1000),
    );
    expect(check(stringify(EXAMPLE), reportFileSchema)).toBe(true);
  });
});
