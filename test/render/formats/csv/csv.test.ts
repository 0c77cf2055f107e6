import { readFileSync } from 'node:fs';
import { type CastingContext, parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Table, Value } from '../../../../src/fetch/dataset.ts';
import type { CsvOptions } from '../../../../src/render/formats/csv/csv-schema.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  durationColumn,
  groupColumn,
  nastyDataset,
  onboarding,
  ratioColumn,
  row,
  strangeColumn,
  table,
  workload,
} from '../../../support/dataset.ts';
import { cases } from '../../../support/fuzz.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();

/** Stands for a missing field. An empty text is quoted, a missing field is not. */
const NOTHING = Symbol('nothing');
const cast = (text: string, { quoting }: CastingContext) => (text === '' && !quoting ? NOTHING : text);
const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t' } as const;
const read = (text: string, separator: keyof typeof DELIMITERS = 'comma'): unknown[][] =>
  parse(text, { bom: true, record_delimiter: '\r\n', delimiter: DELIMITERS[separator], cast, columns: false });

const textOf = async (from: Table, csv: CsvOptions = {}, locale?: string): Promise<string> => {
  const artifacts = await render(dataset([from]), [{ format: 'csv', csv }], { locale });
  return readFileSync(artifactNamed(artifacts, ` ${from.id}.csv`).path, 'utf8');
};

const list = (records: readonly (readonly Value[])[], width: number): Table => {
  const names = Array.from({ length: width }, (_, index) => `field_${index}`);
  return table({
    id: 'list',
    columns: names.map((name) => ({ name, label: name, kind: 'field', type: 'string', unit: null })),
    rows: records.map((record) => row(Object.fromEntries(names.map((name, index) => [name, record[index] ?? null])))),
  });
};

const text = fc
  .array(fc.oneof(fc.constantFrom(...'=+-@"\',;\t\r\n \u00a0＝﻿'), fc.string({ unit: 'grapheme', maxLength: 4 })), {
    maxLength: 6,
  })
  .map((parts) => parts.join(''));
const value: fc.Arbitrary<Value> = fc.oneof(
  text,
  text,
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const records = fc
  .integer({ min: 1, max: 4 })
  .chain((width) =>
    fc.record({ width: fc.constant(width), rows: fc.array(fc.array(value, { minLength: width, maxLength: width })) }),
  );

const separators = fc.constantFrom('comma' as const, 'semicolon' as const, 'tab' as const);

describe('a CSV file', () => {
  it('is read back unchanged by another program, except for formulas, which are disarmed', async () => {
    await fc.assert(
      fc.asyncProperty(
        records,
        fc.boolean(),
        fc.boolean(),
        separators,
        async ({ width, rows }, raw, bom, separator) => {
          const written = await textOf(list(rows, width), { raw, bom, separator });
          expect(written.startsWith('\ufeff')).toBe(bom);
          const [, ...fields] = read(written, separator);
          expect(fields).toHaveLength(rows.length);
          fields.forEach((record, index) => {
            record.forEach((field, column) => {
              const original = rows[index]?.[column] ?? null;
              if (original === null) {
                // A record without any field would be a blank line, which readers skip.
                expect(field).toBe(width === 1 ? '' : NOTHING);
              } else if (typeof original !== 'string' || raw) {
                expect(field).toBe(String(original));
              } else {
                // No formula may begin where a reader with another separator sees a cell begin.
                for (const cell of String(field).split(separator === 'comma' ? /[;\t\r\n]/ : /[,;\t\r\n]/))
                  expect(cell).not.toMatch(/^\s*[=+\-@＝＋－＠]/);
                expect(field).not.toMatch(/^[\t\r\n]/);
                expect(String(field).replaceAll("'", '')).toBe(original.replaceAll("'", ''));
                if (!/[=+\-@＝＋－＠\t\r\n]/.test(original)) expect(field).toBe(original);
              }
            });
          });
        },
      ),
      cases(150),
    );
  });

  it.each([
    ['de-CH', 'formatted', ';'],
    ['de-DE', 'formatted', ';'],
    ['fr-CH', 'formatted', ';'],
    ['en-GB', 'formatted', ','],
    ['en-US', 'formatted', ','],
    ['de-CH', 'raw', ','],
  ] as const)('has the separator that Excel expects: %s, %s values', async (locale, values, delimiter) => {
    const files = await render(dataset([onboarding]), [{ format: 'csv', csv: { values } }], { locale });
    const [head] = readFileSync(artifactNamed(files, ` ${onboarding.id}.csv`).path, 'utf8').split('\r\n');
    const schema = JSON.parse(readFileSync(artifactNamed(files, ` ${onboarding.id}.schema.json`).path, 'utf8'));
    expect(schema.dialect.delimiter).toBe(delimiter);
    expect(head?.replaceAll(/"[^"]*"/g, '').split(delimiter)).toHaveLength(schema.fields.length);
  });

  it('keeps formulas unchanged only with the option `raw`', async () => {
    const evil = list([['=1+1', -5]], 2);
    expect(read(await textOf(evil))[1]).toEqual(["'=1+1", '-5']);
    expect(read(await textOf(evil, { raw: true }))[1]).toEqual(['=1+1', '-5']);
  });

  it.each([false, true])(
    'replaces control characters and broken surrogates in rows, headers and schema (raw: %s)',
    async (raw) => {
      const label = '=Type\u0001';
      const strange = {
        ...onboarding,
        columns: onboarding.columns.map((column) => ({
          ...column,
          label: column.label === 'Approval rate' ? label : column.label,
        })),
      };
      const evil = list([['a\u0000b\u001b\u007f\uffff\ufffe', 'tab\tand\r\nlines \u0085', '\ud800x']], 3);
      expect(read(await textOf(evil, { raw }))[1]).toEqual([
        'a\ufffdb\ufffd\ufffd\ufffd\ufffd',
        'tab\tand\r\nlines \u0085',
        '\ufffdx',
      ]);
      const files = await render(dataset([strange]), [{ format: 'csv', csv: { raw } }]);
      const [head] = read(readFileSync(artifactNamed(files, ` ${strange.id}.csv`).path, 'utf8'));
      const schema = JSON.parse(readFileSync(artifactNamed(files, ` ${strange.id}.schema.json`).path, 'utf8'));
      expect(head?.filter((each) => String(each).includes('Type\ufffd')).length).toBeGreaterThan(0);
      expect(schema.fields.map(({ name }: { name: string }) => name)).toEqual(head);
    },
  );

  it('disarms a formula that follows a semicolon or a line break within a text', async () => {
    const evil = list([["x;=cmd|' /C calc'!A0;y", 'a\n +1', 'well-known; 5 - 3']], 3);
    expect(read(await textOf(evil))[1]).toEqual(["x;'=cmd|' /C calc'!A0;y", "a\n '+1", 'well-known; 5 - 3']);
  });

  it('is written quickly however many line breaks a text has', async () => {
    const breaks = '\n'.repeat(300_000);
    expect(read(await textOf(list([[`${breaks}=1`]], 1)))[1]).toEqual([`'${breaks}'=1`]);
  });

  it('has formatted values with their units, and no units in the header', async () => {
    const [head, first, , , , , , last] = read(await textOf(onboarding, { values: 'formatted' }));
    expect(head).toEqual([
      'Bucket',
      'Profiles created',
      'Profiles created, previous period',
      'Approval rate',
      'Approval rate, previous period',
      'Time to decision (median)',
      'Time to decision (median), previous period',
      'Still running',
      'Not comparable, previous period',
    ]);
    expect(first).toEqual(['Mon 9 Nov 2026', '1,204', '1,300', '81.0%', '83.0%', '3.4 hours', '4.2 hours', 'no', '–']);
    expect(last).toEqual(['Sun 15 Nov 2026', '0', '0', '–', '–', '–', '–', 'yes', '–']);
  });

  it('follows the locale with formatted values, and never with raw values', async () => {
    const german = read(await textOf(onboarding, { values: 'formatted' }, 'de-DE'), 'semicolon');
    expect(german[1]?.slice(1, 4)).toEqual(['1.204', '1.300', '81,0\u00a0%']);
    expect(await textOf(onboarding, {}, 'de-DE')).toBe(await textOf(onboarding));
  });

  it.each([
    ['en-GB', ['-1,204', '-12.5%', '−12.5 chf']],
    ['de-DE', ['-1.204', '-12,5\u00a0%', '−12,5 chf']],
    ['de-CH', ["-1'204", '-12.5%', '−12.5 chf']],
    ['fr-FR', ['-1204', '-12,5\u00a0%', '−12,5 chf']],
    ['sv-SE', ['-1204', '-12,5\u00a0%', '−12,5 chf']],
    ['he-IL', ['-1,204', '-12.5%', '\u200e-12.5 chf']],
  ])(
    'begins negative numbers with a hyphen in %s, but not before a word, which would be a formula',
    async (locale, fields) => {
      const below = table({
        id: 'below',
        columns: [groupColumn, countColumn, ratioColumn, strangeColumn],
        rows: [row({ [countColumn.name]: -1204, [ratioColumn.name]: -0.125, 'risk.exposure': -12.5 })],
      });
      const [, negative] = read(
        await textOf(below, { values: 'formatted', separator: 'semicolon' }, locale),
        'semicolon',
      );
      expect(negative?.slice(1, 4)).toEqual(fields);
    },
  );

  it('marks a running period in rows without a bucket and in the totals', async () => {
    const folded = (partial: boolean) =>
      table({
        id: 'folded',
        columns: [groupColumn, countColumn],
        rows: [row({ 'profile.group': 'North', 'profiles.created': 3 }, { partial })],
        totals: { values: { 'profiles.created': 3 } },
      });
    for (const partial of [true, false]) {
      const artifacts = await render(dataset([folded(partial)]), [{ format: 'csv' }]);
      const lines = (name: string) => read(readFileSync(artifactNamed(artifacts, name).path, 'utf8'));
      expect(lines(' folded.csv')).toEqual([
        ['Group', 'Profiles created (count)', 'Still running'],
        ['North', '3', `${partial}`],
      ]);
      expect(lines(' folded.totals.csv')).toEqual([
        ['Profiles created (count)', 'Still running'],
        ['3', `${partial}`],
      ]);
    }
  });

  it('has no column “Still running” in a list or beside current counts', async () => {
    expect(read(await textOf(workload))[0]).toEqual(['Open alerts (count)', 'Overdue RFIs (count)']);
    expect(read(await textOf(list([['a']], 1)))[0]).toEqual(['field_0']);
  });

  it('has only a header when its section has no rows', async () => {
    const none = table({ id: 'none', granularity: 'day', columns: [bucketColumn, countColumn], rows: [] });
    expect(await textOf(none)).toBe('\ufeffBucket,Profiles created (count),Still running\r\n');
  });

  it('keeps the section in its name however long the title is', async () => {
    const section = (id: string) => table({ id, columns: [countColumn], rows: [row({ 'profiles.created': 1 })] });
    const long = dataset([section('first'), section('second')], { title: 'A title that does not end '.repeat(8) });
    const names = (await render(long, [{ format: 'csv' }])).map(({ name }) => name);
    expect(names.map((name) => name.match(/ (first|second)(\.schema\.json|\.csv)$/)?.[0])).toEqual([
      ' first.csv',
      ' first.schema.json',
      ' second.csv',
      ' second.schema.json',
    ]);
  });
});

interface Schema {
  readonly title: string;
  readonly description?: string;
  readonly fields: readonly {
    readonly name: string;
    readonly type: string;
    readonly unit?: string;
    readonly description: string;
    readonly constraints?: { readonly enum: readonly string[] };
  }[];
  readonly missingValues: readonly string[];
}

const schemaOf = async (from: Table, csv: CsvOptions = {}, ending = '.schema.json'): Promise<Schema> => {
  const artifacts = await render(dataset([from]), [{ format: 'csv', csv }]);
  return JSON.parse(readFileSync(artifactNamed(artifacts, `${from.id}${ending}`).path, 'utf8'));
};

/** Whether a field matches its schema. */
const fits = (field: unknown, { type, constraints }: Schema['fields'][number], missing: readonly string[]): boolean => {
  if (field === NOTHING || missing.includes(String(field))) return true;
  const like: Readonly<Record<string, RegExp>> = {
    string: /^/,
    integer: /^-?\d+$/,
    number: /^-?\d+(\.\d+)?(e[+-]\d+)?$/,
    boolean: /^(true|false)$/,
    date: /^\d{4}-\d\d-\d\d$/,
    datetime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/,
  };
  const expected = like[type];
  if (expected === undefined) throw new Error(`no type of a Table Schema: ${type}`);
  return expected.test(String(field)) && (constraints === undefined || constraints.enum.includes(String(field)));
};

describe('the schema beside a CSV file', () => {
  it.each([{}, { values: 'formatted' }, { raw: true }] as const)(
    'names the columns in order, and every field matches its type, with %j',
    async (csv) => {
      const data = nastyDataset();
      const artifacts = await render(data, [{ format: 'csv', csv }]);
      for (const file of artifacts.filter(({ format }) => format === 'csv')) {
        const companion = artifactNamed(artifacts, file.name.replace(/\.csv$/, '.schema.json'));
        const schema: Schema = JSON.parse(readFileSync(companion.path, 'utf8'));
        const [header, ...rows] = read(readFileSync(file.path, 'utf8'));
        expect(schema.fields.map(({ name }) => name)).toEqual(header);
        const wrong = rows.flatMap((fields) =>
          fields.filter((field, index) => !fits(field, schema.fields[index]!, schema.missingValues)),
        );
        expect(wrong).toEqual([]);
      }
    },
  );

  it('describes types, units and the meaning of an empty field', async () => {
    const { fields, missingValues } = await schemaOf({ ...onboarding, comparisons: [] });
    expect(fields.map(({ name, type, unit }) => [name, type, unit])).toEqual([
      ['Bucket', 'date', undefined],
      ['Profiles created (count)', 'integer', 'count'],
      ['Approval rate (ratio 0–1)', 'number', 'ratio'],
      ['Time to decision (median) (seconds)', 'number', 'seconds'],
      ['Still running', 'boolean', undefined],
    ]);
    expect(missingValues).toEqual(['']);
    expect(fields[2]?.description).toBe(
      'Share of decided profiles whose first decision was Approved. Counts at: first decision. Aggregation: ratio. ' +
        'An empty field is undefined, such as a rate or a median over nothing. It is not zero. ' +
        "The service's name: profiles.approval_rate.",
    );
  });

  it('exists for the file of totals as well', async () => {
    const { fields } = await schemaOf(onboarding, {}, '.totals.schema.json');
    expect(fields.map(({ type }) => type)).toEqual([
      'integer',
      'integer',
      'number',
      'number',
      'number',
      'number',
      'boolean',
      'string',
    ]);
  });

  it('says that rows are missing', async () => {
    const { description } = await schemaOf(nastyDataset().tables.find(({ id }) => id === 'groups')!);
    expect(description).toContain('Incomplete: The service truncated the table after 5,000 rows');
  });

  it('types a fractional count as number, and a bucket that is no date as string', async () => {
    const odd = table({
      id: 'odd',
      granularity: 'day',
      columns: [bucketColumn, countColumn, ratioColumn, durationColumn],
      rows: [row({ bucket: 'someday', 'profiles.created': 1.5 })],
    });
    expect((await schemaOf(odd)).fields.slice(0, 2).map(({ type }) => type)).toEqual(['string', 'number']);
  });
});
