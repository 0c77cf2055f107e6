import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { secretSource } from '../../src/base/secrets/secret.ts';
import type { Catalog } from '../../src/contract/catalog.ts';
import type { Output } from '../../src/definitions/schema/kinds.ts';
import { readingsSchema } from '../../src/definitions/schema/readings.ts';
import { targetListSchema } from '../../src/definitions/schema/targets.ts';
import type { PublishedRun } from '../../src/deliver/archive/archive.ts';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import { memoryLedger } from '../../src/deliver/ledger/memory-ledger.ts';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { memoryBudget } from '../../src/fetch/rate-limit/memory-budget.ts';
import type { FindReadings, Reading } from '../../src/plan/reading.ts';
import { headlineFigures } from '../../src/render/figures/headline-figures.ts';
import { buildHeadlines } from '../../src/render/figures/headlines.ts';
import { FORMATS } from '../../src/render/formats/registry.ts';
import { createRenderer } from '../../src/render/renderer.ts';
import { run } from '../../src/run/run.ts';
import type { RunPorts } from '../../src/run/run-context.ts';
import { createRunOrder } from '../../src/run/run-order.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, openSandbox } from '../support/fetch-harness.ts';
import { ALL_CASES, cases, least, within } from '../support/fuzz.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';
import { manualClock } from '../support/manual-clock.ts';
import { checkCsv } from '../support/pack-oracle/check-csv.ts';
import { checkEmail } from '../support/pack-oracle/check-email.ts';
import { checkHeadlines } from '../support/pack-oracle/check-headlines.ts';
import { checkManifest } from '../support/pack-oracle/check-manifest.ts';
import { checkWorkbook } from '../support/pack-oracle/check-workbook.ts';
import type { Checked, UnitsShown } from '../support/pack-oracle/checked.ts';
import { expectedSection, type Frame } from '../support/pack-oracle/expected.ts';
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
} from '../support/pack-oracle/random-packs.ts';
import { givenTargets, metricIds, writtenTargets } from '../support/pack-oracle/random-targets.ts';
import { expectedReadings, randomReadings, type StoredReadings } from '../support/pack-oracle/readings.ts';
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

/** The service's answers, each asked for once. */
function rememberedAnswers(): Frame['ask'] {
  const answers = new Map<string, ReturnType<typeof direct.answered>>();
  return async (body) => {
    const key = JSON.stringify(body);
    const found = answers.get(key) ?? direct.answered(body);
    answers.set(key, found);
    return (await found).rows;
  };
}

/** Stored readings as the archive finds them. */
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

/** Runs reports as a worker does, and keeps what was rendered last. */
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

/** The oracle knows the cases of counts alone: bases of rates and durations have tests of their own (`plan/requests/add-bases`). */
const withoutBases = ({ metrics }: Catalog): Record<string, 'none'> =>
  Object.fromEntries(metrics.flatMap(({ id, unit }) => (unit === 'count' ? [] : [[id, 'none'] as const])));

/** Units of one thing that a pack shows: two are a fault. Tables whose columns name no unit each have one of their own. */
const severalUnits = (dataset: Dataset, units: UnitsShown): string[] =>
  dataset.tables.some(({ columns }) => columns.some((column) => 'shownIn' in column))
    ? [...units].flatMap(([thing, shown]) => (shown.size > 1 ? [thing] : []))
    : [];

test(
  'every number, change, status and headline of a pack is what the raw answers say',
  async () => {
    const byStatus = { on_target: 0, watch: 0, breached: 0, undefined: 0 };
    const checked: Checked = {
      cells: 0,
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
    const { catalog, publish } = await packRunner();
    const ask = rememberedAnswers();

    await fc.assert(
      fc.asyncProperty(packDraft, async (one) => {
        const asked = askedSections(one, catalog);
        fc.pre(asked.length > 0);
        const range = pick(one.long ? LONG : SHORT, one.period);
        const frame: Frame = { timezone: one.timezone, asOf: AT, fiscal: one.fiscal, ask };
        const readings = randomReadings(CURRENT, one.timezone, LAST_READ, valuesOf(catalog));
        const sections = await Promise.all(
          asked.map((section) =>
            section.read && section.range !== undefined
              ? expectedReadings({ ...section, range: section.range }, frame, readings)
              : expectedSection(section, frame),
          ),
        );
        const targets = givenTargets(one, sections, catalog);
        const ids = metricIds(asked);
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
          bases: withoutBases(catalog),
          targets: written(false),
          ...(one.read.length === 0
            ? {}
            : { readings: readingsSchema.parse({ metrics: CURRENT, by: ['profile.risk'] }) }),
          ...(one.fiscal === undefined ? {} : { fiscal_year_start: one.fiscal }),
        });
        const definition = definitionOf(
          asked.map((section) => inputOf(section, range)),
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
        checkHeadlines(sentences, headlinesOf(sections, judged, wanted, range, pack.labelOf));
        checkEmail(mail.text, pack, sentences, checked, units);
        expect(buildHeadlines(headlineFigures(dataset, 'de', settings), wanted, 'de')).toHaveLength(sentences.length);
        for (const thing of severalUnits(dataset, units)) several.add(thing);
        checked.headlines += sentences.length;
        packs += 1;
        await rm(published.folder, { recursive: true, force: true });
      }),
      { ...cases(150), endOnFailure: !ALL_CASES },
    );
    expect([...several]).toEqual([]);
    expect(packs).toBeGreaterThanOrEqual(least(150));
    expect(checked.cells).toBeGreaterThan(least(10_000));
    expect(checked.changes).toBeGreaterThan(least(1_000));
    expect(checked.dashes).toBeGreaterThan(least(1_000));
    expect(checked.statuses).toBeGreaterThan(least(400));
    expect(checked.notes).toBeGreaterThan(least(150));
    expect(checked.headlines).toBeGreaterThan(least(60));
    expect(checked.readings).toBeGreaterThan(least(1_500));
    for (const count of Object.values(byStatus)) expect(count).toBeGreaterThan(least(4));
  },
  within(40),
);
