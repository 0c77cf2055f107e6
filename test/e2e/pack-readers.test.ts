import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Output } from '../../src/definitions/schema/kinds.ts';
import type { Dataset, Table } from '../../src/fetch/dataset.ts';
import { type Artifact, inlineImages } from '../../src/render/artifact.ts';
import { FORMATS } from '../../src/render/formats/registry.ts';
import { createRenderer, type Rendered } from '../../src/render/renderer.ts';
import { openChromium } from '../support/browser.ts';
import { MADE_AT } from '../support/dataset.ts';
import { DEMO_REPORTS, type DemoPacks, openDemoPacks } from '../support/demo-packs.ts';
import {
  figureCount,
  missingFigures,
  numbersIn,
  sectionsWithFigures,
  showsFigure,
  squeezed,
} from '../support/figure-reader.ts';
import { packCase, samplePacks } from '../support/pack-datasets.ts';
import { mailTables, pdfTables, type ReadTable, sheetTables } from '../support/pack-tables.ts';
import { artifactNamed } from '../support/render-folder.ts';
import { rowsOf } from '../support/rows.ts';

const OUTPUTS: Output[] = [{ format: 'xlsx' }, { format: 'csv' }, { format: 'pdf' }];
const GENERATED = 4;

interface MadePack {
  readonly name: string;
  readonly dataset: Dataset;
  readonly locale: string;
  readonly artifacts: readonly Artifact[];
  readonly mail: Rendered['mail'];
}

let folder: string;
let demo: DemoPacks;
let browser: Browser;
let page: Page;
const packs: MadePack[] = [];
const pdfs = new Map<string, readonly ReadTable[]>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-readers-'));
  demo = await openDemoPacks(folder);
  browser = await openChromium();
  page = await browser.newPage({ viewport: { width: 700, height: 900 } });
  for (const report of DEMO_REPORTS) {
    const { dataset, artifacts, mail } = await demo.run(report, report, { outputs: OUTPUTS });
    packs.push({ name: report, dataset, locale: 'en-GB', artifacts, mail });
  }
  const render = createRenderer(FORMATS);
  for (const [index, { dataset, locale }] of samplePacks(GENERATED, packCase({ min: 2, max: 8 })).entries()) {
    const own = join(folder, `generated-${index}`);
    await mkdir(own);
    const made = await render(
      {
        dataset,
        outputs: OUTPUTS,
        files: { folder: own, digest: 'd'.repeat(64) },
        mail: {},
        run: '0123456789abcdef0123456789abcdef',
        madeAt: MADE_AT,
        locale,
      },
      new AbortController().signal,
    );
    packs.push({ name: `generated ${index}`, dataset, locale, ...made });
  }
  for (const { name, artifacts } of packs) pdfs.set(name, await pdfTables(artifactNamed(artifacts, '.pdf').path));
});
afterAll(async () => {
  await browser?.close();
  await demo?.close();
  await rm(folder, { recursive: true, force: true });
});

const workbookOf = ({ artifacts }: MadePack): readonly ReadTable[] =>
  sheetTables(artifactNamed(artifacts, '.xlsx').path);
const pdfOf = ({ name }: MadePack): readonly ReadTable[] => pdfs.get(name) ?? [];

/** The figures that are missing in all packs, and the number of expected figures. */
function look(
  tablesOf: (pack: MadePack) => readonly ReadTable[],
  shown: (section: Table) => boolean,
): { readonly missing: unknown[]; readonly figures: number } {
  const missing: unknown[] = [];
  let figures = 0;
  for (const pack of packs) {
    const tables = tablesOf(pack);
    for (const section of sectionsWithFigures(pack.dataset).filter(shown)) {
      figures += figureCount(section);
      missing.push(...missingFigures(section, tables, pack.locale).map((fault) => ({ pack: pack.name, ...fault })));
    }
  }
  return { missing, figures };
}

describe('other programs read every figure of a pack as it is in the dataset', () => {
  test('in its CSV files with csv-parse, as raw values', async () => {
    let fields = 0;
    for (const { name, dataset, artifacts } of packs) {
      for (const section of sectionsWithFigures(dataset)) {
        const file = artifactNamed(artifacts, ` ${section.id}.csv`);
        const records: Record<string, string>[] = parse(await readFile(file.path), { bom: true, columns: true });
        const rows = rowsOf(section);
        expect(records.length, `${name} ${section.id}`).toBe(rows.length);
        const metrics = section.columns.filter(({ kind }) => kind === 'metric');
        for (const [index, { values, compare, toDate }] of rows.entries()) {
          const expected = metrics.flatMap(({ name: metric }) => [
            values[metric] ?? null,
            ...section.comparisons.map(({ kind }) => compare?.[kind]?.values[metric] ?? null),
            ...(section.toDate === undefined ? [] : [toDate?.[metric] ?? null]),
          ]);
          const keys = section.columns.length - metrics.length;
          const found = Object.values(records[index] ?? {}).slice(keys, keys + expected.length);
          expect(found, `${name} ${section.id} ${index}`).toEqual(
            expected.map((value) => (value === null ? '' : String(value))),
          );
          fields += expected.length;
        }
      }
    }
    expect(fields).toBeGreaterThan(1_000);
  });

  test('in its workbook with SheetJS, except for sections that show exceptions only', () => {
    const { missing, figures } = look(workbookOf, ({ layout }) => layout?.kind !== 'exceptions');
    expect(missing.slice(0, 5)).toEqual([]);
    expect(figures).toBeGreaterThan(500);
  });

  test('in its PDF with poppler, except for sections that show exceptions or trends only', () => {
    const { missing, figures } = look(
      pdfOf,
      ({ print, layout }) => print !== false && layout?.kind !== 'exceptions' && layout?.kind !== 'trend',
    );
    expect(missing.slice(0, 5)).toEqual([]);
    expect(figures).toBeGreaterThan(300);
  });

  test('in its e-mail with Chromium', async () => {
    const strangers: unknown[] = [];
    let read = 0;
    for (const { name, dataset, locale, mail } of packs) {
      const tables = await mailTables(page, inlineImages(mail));
      for (const section of sectionsWithFigures(dataset)) {
        const known = knownFigures(dataset, section);
        const own = tables.filter(({ headings }) => squeezed(headings.at(-1) ?? '') === squeezed(section.title));
        for (const { rows } of own) {
          const [header, ...body] = rows;
          if ((header?.length ?? 0) < 2) continue;
          for (const row of body) {
            for (const cell of row.slice(keyCount(section))) {
              if (numbersIn(String(cell), locale).length === 0) continue;
              read += 1;
              if (!known.some(([figure, unit, rounded]) => showsFigure(cell, figure, unit, locale, rounded)))
                strangers.push({ name, section: section.id, row });
            }
          }
        }
      }
    }
    expect(strangers.slice(0, 5)).toEqual([]);
    expect(read).toBeGreaterThan(100);
  });
});

/** The number of key columns. A scorecard has the metric there. */
const keyCount = ({ columns }: Table): number => Math.max(1, columns.filter(({ kind }) => kind !== 'metric').length);

type Known = readonly [figure: number, unit: string | null, rounded?: 1 | 2];

/** Everything that a section may show: figures, compared figures, changes and targets. */
function knownFigures({ targets = [] }: Dataset, section: Table): Known[] {
  return section.columns
    .filter(({ kind }) => kind === 'metric')
    .flatMap(({ name, unit }) => {
      const all = [...rowsOf(section), ...(section.totals === undefined ? [] : [section.totals])];
      const own = targets.flatMap(({ metric, target }) => (metric === name && target !== null ? [target] : []));
      const figures = all.map(({ values, compare, toDate }) => {
        const now = values[name];
        return {
          now: typeof now === 'number' ? [now] : [],
          others: Object.values(compare ?? {}).flatMap((one) => one.values[name] ?? []),
          toDate: [toDate?.[name] ?? []].flat(),
        };
      });
      const changes = figures.flatMap(({ now: [now], others }) =>
        others.flatMap((before): Known[] => {
          if (now === undefined) return [];
          // Changes have a sign or an arrow; they are in points, percent or time, or a multiple.
          const difference = now - before;
          const share = difference / before;
          const signed: Known[] =
            unit === 'ratio'
              ? [[difference, 'ratio', 2]]
              : [
                  [share, 'ratio'],
                  [now / before, 'count'],
                ];
          const all: Known[] = unit === 'seconds' ? [...signed, [difference, 'seconds', 2]] : signed;
          return all.flatMap((each): Known[] => [each, [Math.abs(each[0]), each[1], each[2] ?? 1]]);
        }),
      );
      const plain = [...own, ...figures.flatMap(({ now, others, toDate }) => [...now, ...others, ...toDate])];
      return [...plain.map((figure): Known => [figure, unit]), ...changes];
    });
}

test('the readers notice a wrong figure', () => {
  const [pack] = packs;
  if (pack === undefined) throw new Error('no pack');
  const [section] = sectionsWithFigures(pack.dataset);
  const [metric] = section?.columns.filter(({ kind }) => kind === 'metric') ?? [];
  if (section === undefined || metric === undefined) throw new Error('no section');
  const wrong = rowsOf(section).map((row) => ({ ...row, values: { ...row.values, [metric.name]: 987_654_321 } }));
  for (const tables of [workbookOf(pack), pdfOf(pack)]) {
    expect(missingFigures(section, tables, pack.locale)).toEqual([]);
    expect(missingFigures(section, tables, pack.locale, wrong)).not.toEqual([]);
  }
});
