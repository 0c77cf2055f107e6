import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { secretSource } from '../../src/base/secrets/secret.ts';
import type { Catalog } from '../../src/contract/catalog.ts';
import type { Output } from '../../src/definitions/schema/kinds.ts';
import { readingsSchema } from '../../src/definitions/schema/readings.ts';
import { targetListSchema } from '../../src/definitions/schema/targets.ts';
import type { PublishedRun } from '../../src/deliver/archive/archive.ts';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import { FORMATS } from '../../src/features/formats.ts';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { memoryBudget } from '../../src/fetch/rate-limit/memory-budget.ts';
import type { FindReadings, Reading } from '../../src/plan/reading.ts';
import { headlineFigures } from '../../src/render/figures/headline-figures.ts';
import { buildHeadlines } from '../../src/render/figures/headlines.ts';
import { buildPack } from '../../src/render/pack/build-pack.ts';
import { createRenderer } from '../../src/render/renderer.ts';
import { run } from '../../src/run/run.ts';
import type { RunPorts } from '../../src/run/run-context.ts';
import { createRunOrder } from '../../src/run/run-order.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, openSandbox } from '../support/fetch-harness.ts';
import { cases, least, within } from '../support/fuzz.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryLedger } from '../support/memory-ledger.ts';
import { checkCsv } from '../support/pack-oracle/check-csv.ts';
import { checkEmail } from '../support/pack-oracle/check-email.ts';
import { checkHeadlines } from '../support/pack-oracle/check-headlines.ts';
import { checkManifest } from '../support/pack-oracle/check-manifest.ts';
import { checkWorkbook } from '../support/pack-oracle/check-workbook.ts';
import type { Checked, UnitsShown } from '../support/pack-oracle/checked.ts';
import { bucketDays } from '../support/pack-oracle/days.ts';
import { type AskedSection, expectedSection, type Frame } from '../support/pack-oracle/expected.ts';
import { inEnglish } from '../support/pack-oracle/german.ts';
import { headlinesOf } from '../support/pack-oracle/headlines.ts';
import { judge } from '../support/pack-oracle/judged.ts';
import {
  askedSections,
  CURRENT,
  inputOf,
  LAST_READ,
  LONG,
  packDraft,
  pick,
  SHORT,
  withBases,
} from '../support/pack-oracle/random-packs.ts';
import { givenTargets, metricIds, writtenTargets } from '../support/pack-oracle/random-targets.ts';
import { expectedReadings, randomReadings, type StoredReadings } from '../support/pack-oracle/readings.ts';
import { checkTakeaway, takeawayOf } from '../support/pack-oracle/takeaways.ts';
import { usualOf } from '../support/pack-oracle/usual.ts';
import { artifactNamed } from '../support/render-folder.ts';
import { definitionOf, settingsOf } from '../support/reports.ts';

/** A Friday, two weeks after a week 53. */
const AT = Date.parse('2027-01-15T10:00:00Z');

let sandbox: Sandbox;
let folder: string;
const direct = inProcessSandbox({ now: AT });
beforeAll(async () => {
  sandbox = await openSandbox({ now: AT });
  folder = await mkdtemp(join(tmpdir(), 'docket-packs-'));
});
afterAll(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
});

/** The service’s answers. Each question is asked once. */
function rememberedAnswers(): Frame['ask'] {
  const answers = new Map<string, ReturnType<typeof direct.answered>>();
  return async (body) => {
    const key = JSON.stringify(body);
    const found = answers.get(key) ?? direct.answered(body);
    answers.set(key, found);
    return (await found).rows;
  };
}

/** Finds stored readings as the archive does. */
const findIn =
  (stored: StoredReadings, timezone: string): FindReadings =>
  async (org, dimension, days) =>
    new Map(
      days.flatMap((day): [string, Reading][] => {
        const found = stored.of(dimension, day);
        if (found === undefined) return [];
        const { at, id, metrics, groups } = found;
        const question = {
          question: dimension === null ? 'whole' : `by-${dimension}`,
          metrics: [...metrics],
          dimension,
        };
        const rows = [...groups].map(([group, values]) => ({ group, values: { ...values } }));
        const answer = { as_of: at, received_at: at, registry_version: 7, correlation_id: id, rows };
        return [[day, { version: 1, org, service_org: 'current', day, timezone, ...question, ...answer }]];
      }),
    );

/** Runs reports as a worker does, and keeps the last dataset that was rendered. */
async function packRunner() {
  const clock = manualClock(AT);
  const budget = memoryBudget({ calls: 1_000_000, windowMs: 1, clock });
  const fetching = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { budget, clock });
  const archive = directoryArchive(folder, clock);
  const render = createRenderer(FORMATS);
  let dataset: Dataset | undefined;
  const ports: RunPorts = {
    ...fetching,
    secrets: secretSource({}),
    formats: FORMATS,
    render: (request, signal) => {
      dataset = request.dataset;
      return render(request, signal);
    },
    archive,
    ledger: memoryLedger(),
    mail: undefined,
    templates: undefined,
    workingDirectory: folder,
  };
  let runs = 0;
  return {
    catalog: await fetching.client.catalog('current', fetching.signal),
    async publish(
      definition: ReturnType<typeof definitionOf>,
      settings: ReturnType<typeof settingsOf>,
      readings: FindReadings,
    ): Promise<{ readonly published: PublishedRun; readonly dataset: Dataset }> {
      runs += 1;
      const slot = `trigger:${runs}`;
      const trigger = { trigger: 'cli', priority: 'on_demand', slot, at: AT, deliver: false, now: AT } as const;
      const order = createRunOrder({ definition, settings, ...trigger });
      const context = { definition, settings, signal: fetching.signal, observe: () => {}, lastAttempt: true };
      doneOf(await run(order, context, { ...ports, readings }));
      const published = await archive.find(order);
      if (published === undefined || dataset === undefined) throw new Error('nothing was published');
      return { published, dataset };
    },
  };
}

const labelsOf =
  (catalog: Catalog) =>
  (dimension: string, value: string | null): string =>
    catalog.dimensions.find(({ id }) => id === dimension)?.values.find((each) => each.value === value)?.label ??
    value ??
    '–';

const valuesOf =
  (catalog: Catalog) =>
  (dimension: string): string[] =>
    catalog.dimensions.find(({ id }) => id === dimension)?.values.map(({ value }) => value) ?? [];

/** Sets `none` for metrics whose base only the planner would choose: see `plan/requests/add-bases`. */
function otherBases({ metrics }: Catalog, sections: readonly AskedSection[]): Record<string, 'none'> {
  const based = new Set(sections.flatMap((section) => section.metrics.flatMap(({ id, base }) => (base ? [id] : []))));
  return Object.fromEntries(
    metrics.flatMap(({ id, unit }) => (unit === 'count' || based.has(id) ? [] : [[id, 'none'] as const])),
  );
}

/**
 * Things that a pack shows in more than one unit, which is a fault. Nothing is checked when its columns name no unit:
 * then each table may have its own.
 */
const severalUnits = (dataset: Dataset, units: UnitsShown): string[] =>
  dataset.tables.some(({ columns }) => columns.some((column) => 'shownIn' in column))
    ? [...units].flatMap(([thing, shown]) => (shown.size > 1 ? [thing] : []))
    : [];

test(
  'every number, change, status and headline of a pack agrees with the raw answers',
  async () => {
    const byStatus = { on_target: 0, watch: 0, breached: 0, undefined: 0 };
    const checked: Checked = {
      cells: 0,
      few: 0,
      changes: 0,
      dashes: 0,
      statuses: 0,
      notes: 0,
      headlines: 0,
      readings: 0,
      byStatus,
    };
    const several = new Set<string>();
    let packs = 0;
    let movers = 0;
    const { catalog, publish } = await packRunner();
    const ask = rememberedAnswers();

    await fc.assert(
      fc.asyncProperty(packDraft, async (one) => {
        const requested = one.based ? withBases(askedSections(one, catalog), catalog) : askedSections(one, catalog);
        fc.pre(requested.length > 0);
        const range = pick(one.long ? LONG : SHORT, one.period);
        const frame: Frame = { timezone: one.timezone, asOf: AT, fiscal: one.fiscal, ask };
        const readings = randomReadings(CURRENT, one.timezone, LAST_READ, valuesOf(catalog));
        const sections = await Promise.all(
          requested.map((section) =>
            section.read && section.range !== undefined
              ? expectedReadings({ ...section, range: section.range }, frame, readings)
              : expectedSection(section, frame),
          ),
        );
        const targets = givenTargets(one, sections, catalog);
        const ids = metricIds(requested);
        const wanted = one.headline === undefined ? undefined : [...new Set(one.headline.map((at) => pick(ids, at)))];
        const judged = judge(sections, targets, frame);
        const pack = { period: range, sections, judged, targets, labelOf: labelsOf(catalog) };

        const written = (report: boolean) =>
          targetListSchema.parse(writtenTargets(targets.filter((target) => target.report === report)));
        const outputs: Output[] = [
          { format: 'xlsx' },
          { format: 'csv', ...(one.formatted ? { csv: { values: 'formatted' as const } } : {}) },
        ];
        const settings = settingsOf({
          timezone: one.timezone,
          bases: otherBases(catalog, requested),
          targets: written(false),
          ...(one.read.length === 0
            ? {}
            : { readings: readingsSchema.parse({ metrics: CURRENT, by: ['profile.risk'] }) }),
          ...(one.fiscal === undefined ? {} : { fiscal_year_start: one.fiscal }),
        });
        const definition = definitionOf(
          requested.map((section) => inputOf(section, range)),
          { outputs, period: range, targets: written(true), ...(wanted === undefined ? {} : { headline: wanted }) },
        );
        const { published, dataset } = await publish(definition, settings, findIn(readings, one.timezone));
        const { artifacts: files, mail } = published;

        const units: UnitsShown = new Map();
        checkWorkbook(artifactNamed(files, '.xlsx').path, pack, checked, units);
        for (const section of sections) {
          const rows = artifactNamed(files, ` ${section.id}.csv`).path;
          const totals =
            section.total === undefined ? undefined : artifactNamed(files, ` ${section.id}.totals.csv`).path;
          checkCsv({ rows, totals }, section, pack, one.formatted, checked, units);
        }
        const manifest = await readFile(join(published.folder, 'manifest.json'), 'utf8');
        const sentences = checkManifest(manifest, pack, checked);
        const said = headlinesOf(sections, judged, wanted, range, pack.labelOf);
        checkHeadlines(sentences, said);
        const shown = buildPack(dataset, { calendar: settings }).sections;
        for (const section of sections) {
          const { takeaway } = shown.find(({ table }) => table.id === section.id) ?? {};
          checkTakeaway(takeaway, takeawayOf(section, pack, wanted, range));
          if (takeaway?.startsWith('Largest change')) movers += 1;
        }
        checkEmail(mail.text, pack, sentences, checked, units);
        const german = buildHeadlines(headlineFigures(dataset, 'de', settings), wanted, 'de');
        checkHeadlines(
          german.map((sentence, at) => inEnglish(sentence, said[at]?.label ?? '')),
          said,
        );
        for (const thing of severalUnits(dataset, units)) several.add(thing);
        checked.headlines += sentences.length;
        packs += 1;
        await rm(published.folder, { recursive: true, force: true });
      }),
      cases(500),
    );
    expect([...several]).toEqual([]);
    expect(packs).toBeGreaterThanOrEqual(least(500));
    expect(movers).toBeGreaterThan(least(4));
    expect(checked.cells).toBeGreaterThan(least(10_000));
    expect(checked.few).toBeGreaterThan(least(150));
    expect(checked.changes).toBeGreaterThan(least(1_000));
    expect(checked.dashes).toBeGreaterThan(least(1_000));
    expect(checked.statuses).toBeGreaterThan(least(400));
    expect(checked.notes).toBeGreaterThan(least(150));
    expect(checked.headlines).toBeGreaterThan(least(60));
    expect(checked.readings).toBeGreaterThan(least(1_500));
    for (const count of Object.values(byStatus)) expect(count).toBeGreaterThan(least(4));
  },
  within(120),
);

/** Metrics of the scorecard, with the last digit that is shown as a raw value. */
const RANGED: Readonly<Record<string, number>> = {
  'profiles.created': 1,
  'profiles.approval_rate': 0.001,
  'profiles.time_to_decision_p50': 360,
  'alerts.created': 1,
  'alerts.time_to_close_p50': 360,
  'rfis.sent': 1,
  'cohort.completion_rate': 0.001,
};
const rangesSchema = z.object({
  ranges: z
    .array(z.looseObject({ metric: z.string(), value: z.number(), low: z.number(), high: z.number() }))
    .default([]),
  headlines: z.array(z.string()).default([]),
  incomplete: z.array(z.looseObject({})).default([]),
});
const SPANS = { week: { from: '2024-09-02', to: '2027-01-10' }, month: { from: '2024-02-01', to: '2026-12-31' } };

test(
  'every usual range of a scorecard follows from its raw points, and every unusual value has a headline',
  async () => {
    const states = { usual: 0, unusual: 0, drifting: 0 };
    const { catalog, publish } = await packRunner();
    const frame: Frame = { timezone: 'Europe/Zurich', asOf: AT, fiscal: undefined, ask: rememberedAnswers() };
    const draft = fc.record({
      granularity: fc.constantFrom('week' as const, 'month' as const),
      last: fc.nat(200),
      points: fc.constantFrom(13, 13, 15, 12),
      risk: fc.constantFrom(undefined, 'high', 'severe'),
    });
    await fc.assert(
      fc.asyncProperty(draft, async ({ granularity, last, points, risk }) => {
        const buckets = [...bucketDays(SPANS[granularity], granularity).values()];
        const series = buckets.slice(last % (buckets.length - points)).slice(0, points);
        const [first, range] = [pick(series, 0), pick(series, points - 1)];
        const filters = risk === undefined ? [] : [{ dimension: 'profile.risk', op: 'in', values: [risk] }];
        const none = { dimensions: [], order: [], limit: undefined, totals: false, kinds: [], toDate: undefined };
        const fitting = catalog.metrics
          .filter(({ id, dimensions }) => id in RANGED && filters.every((each) => dimensions.includes(each.dimension)))
          .map(({ id, label, unit, data_available }) => {
            return { id, label, unit, additive: unit === 'count', first: data_available?.from ?? '' };
          });
        const section = {
          ...none,
          id: 's',
          metrics: fitting,
          granularity,
          filters,
          range: { from: first.from, to: range.to },
        };
        const [asked = section] = withBases([section], catalog);
        const { rows } = await expectedSection(asked, frame);
        const expected = fitting.flatMap(({ id, first: start }) => {
          const figures = rows.flatMap(({ bucket, figures: { [id]: figure } }) =>
            figure === undefined ? [] : [(bucket ?? '') < start ? { ...figure, now: null } : figure],
          );
          const usual = id.startsWith('cohort.') ? undefined : usualOf(figures, RANGED[id] ?? 0);
          return usual === undefined ? [] : [{ metric: id, value: figures.at(-1)?.now, ...usual }];
        });
        const { granularity: _, ...input } = inputOf({ ...asked, range }, range);
        const hours = { 'profiles.time_to_decision_p50': 'hours', 'alerts.time_to_close_p50': 'hours' } as const;
        const { published } = await publish(
          definitionOf([{ ...input, layout: 'scorecard', trend: points }], {
            outputs: [{ format: 'csv' }],
            period: range,
            units: hours,
          }),
          settingsOf({ timezone: frame.timezone, bases: otherBases(catalog, [asked]) }),
          async () => new Map(),
        );
        const manifest = rangesSchema.parse(
          JSON.parse(await readFile(join(published.folder, 'manifest.json'), 'utf8')),
        );
        expect(
          manifest.ranges.map(({ metric }) => metric),
          JSON.stringify(manifest.incomplete),
        ).toEqual(expected.map(({ metric }) => metric));
        for (const [at, { metric, value, low, high, state }] of expected.entries()) {
          const found = manifest.ranges[at];
          expect(found).toMatchObject({ metric, value, state });
          expect(found?.low).toBeCloseTo(low, 6);
          expect(found?.high).toBeCloseTo(high, 6);
          expect(found && 'headline' in found, `${metric} in ${manifest.headlines.join('; ')}`).toBe(
            state === 'unusual',
          );
          states[state] += 1;
        }
        await rm(published.folder, { recursive: true, force: true });
      }),
      cases(40),
    );
    // The sandbox has few incidents: pack-oracle.test.ts covers unusual values.
    expect(states.usual).toBeGreaterThan(least(50));
    expect(states.drifting).toBeGreaterThan(least(1));
  },
  within(40),
);
