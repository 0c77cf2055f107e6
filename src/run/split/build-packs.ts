import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DocketError } from '../../base/error.ts';
import { done, fail, type Outcome } from '../../base/outcome.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { describeDelivery } from '../../definitions/schema/kinds.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { type Desk, type SplitSettings, splitRecipients } from '../../definitions/schema/split.ts';
import { deskDefinition, deskOf, deskRecipients, deskTargets } from '../../definitions/split.ts';
import { inStagedFolder, type Manifest, type PublishedRun } from '../../deliver/archive/archive.ts';
import type { PackRecord } from '../../deliver/archive/manifest.ts';
import { isReportFile, writePackFiles } from '../../deliver/archive/run-folder/pack-files.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import { withoutCurrentCounts } from '../../fetch/current-counts.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { incompleteNotes } from '../../fetch/notes.ts';
import {
  fetchSplit,
  type SplitAnswers,
  sliceDataset,
  valuesWithRows,
  withOneValue,
} from '../../fetch/split/fetch-split.ts';
import { compilePlan } from '../../plan/compile.ts';
import type { Artifact, RunMail } from '../../render/artifact.ts';
import type { RenderOptions } from '../../render/render-files.ts';
import { judgedDataset, localeOf } from '../judged-dataset.ts';
import { makePlan } from '../make-plan.ts';
import { createManifest, decideDeliveries, renderRun, revealOutputSecrets } from '../render-stage.ts';
import { currentPaths } from '../review/frozen-templates.ts';
import type { RunContext, RunPorts } from '../run-context.ts';
import { timedStage } from '../run-events.ts';
import { currentCountsWindow } from '../run-order.ts';
import type { RunOrder } from '../run-record.ts';
import { incompleteError } from '../run-result.ts';

/** A value with its pack, or why it has none. */
interface PlannedPack {
  readonly desk: Desk;
  /** Absent: no pack can be made. */
  readonly context?: RunContext;
  /** Present: nobody gets it. */
  readonly held?: string;
}

interface FetchedPacks {
  readonly answers: SplitAnswers;
  readonly catalog: Catalog;
  readonly secrets: RenderOptions['secrets'];
  readonly planOf: (context: RunContext) => ReturnType<typeof compilePlan>;
}

/**
 * Fetches once for all values of a report with `split`, and renders the pack of each, one after the other, in a private folder
 * that is deleted unless it was published. Each pack is made from its own dataset and definition alone.
 */
export async function buildPacks(
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
): Promise<Outcome<PublishedRun>> {
  const { split } = context.definition;
  if (split === undefined) throw new Error('The report has no split.');
  if (typeof split.to === 'string') {
    throw new DocketError('definition.invalid', `The list ${split.to} of ${order.org}/${order.report} was not read.`, {
      next: 'Put it beside org.yaml.',
    });
  }
  return inStagedFolder(order, ports, async (folder) => {
    const fetched = await fetchPacks(order, context, split, ports, folder);
    if (fetched.kind !== 'done') return fetched;
    const { answers, catalog } = fetched.value;
    const packs = chosenPacks(plannedPacks(context, split, catalog, answers), context.onlyValue);
    const madeAt = ports.clock.now();
    const records: PackRecord[] = [];
    const files: Artifact[] = [];
    for (const pack of packs) {
      context.signal.throwIfAborted();
      const { desk, held } = pack;
      const state = held === undefined ? { state: 'ready' as const } : { state: 'held' as const, reason: held };
      if (pack.context === undefined) {
        records.push({ ...desk, ...state });
        continue;
      }
      const dataset = datasetOf(pack.context, desk, fetched.value);
      const incomplete = incompleteError('run.incomplete', incompleteNotes(dataset));
      if (context.definition.on_incomplete === 'fail' && incomplete !== undefined) return fail(incomplete);
      const made = await renderPack(dataset, desk, pack.context, { order, folder, madeAt, ...fetched.value }, ports);
      records.push({ ...desk, ...state, manifest: made.manifest });
      files.push(...made.files);
    }
    const unassigned =
      split.others !== 'skip' && valuesWithRows(answers).has(null) ? [nobodysRows(split, catalog)] : [];
    const manifest = runManifest({ order, context, answers, records, files, unassigned, madeAt }, ports);
    const stageContext = { observe: context.observe, clock: ports.clock, trace: ports.trace };
    const published = await timedStage('seal', stageContext, () =>
      ports.archive.publish(folder, manifest, files, runMail(manifest, localeOf(context))),
    );
    for (const artifact of published.artifacts.filter(isReportFile)) {
      context.observe({ type: 'rendered', name: artifact.name, bytes: artifact.bytes });
    }
    return done(published);
  });
}

/** plan → fetch, for all values at once. */
async function fetchPacks(
  order: RunOrder,
  context: RunContext,
  split: SplitSettings,
  ports: RunPorts,
  folder: string,
): Promise<Outcome<FetchedPacks>> {
  const { definition, settings, signal, observe } = context;
  const stageContext = { observe, clock: ports.clock, trace: ports.trace };
  const counts = currentCountsWindow(order);
  const planned = await timedStage('plan', stageContext, async () => {
    const secrets = await revealOutputSecrets(definition, ports);
    const result = await makePlan(order, context, ports, (catalog) => oneDefinition(definition, split, catalog));
    if (result.kind !== 'done') return result;
    const { catalog, plan } = result.value;
    return done({ secrets, catalog, plan: counts.why === 'backfill' ? withoutCurrentCounts(plan) : plan });
  });
  if (planned.kind !== 'done') return planned;
  const { secrets, catalog, plan } = planned.value;
  observe({ type: 'planned', calls: plan.calls.length, sections: plan.sections.length });
  const { id: run, priority, period, sectionPeriods } = order;
  const find = ports.readings;
  const readings = settings.readings && find && { settings: settings.readings, timezone: settings.timezone, find };
  const organization = settings.name ?? settings.id;
  const data = { plan, organization, catalog, counts, readings, calendar: settings, by: split.by };
  const input = { ...ports, run, priority, ...data, folder, signal, observe, fresh: context.fresh };
  const answers = await timedStage('fetch', stageContext, () => fetchSplit(input));
  if (answers.kind !== 'done') return answers;
  const planOf = ({ definition: own }: RunContext) => {
    const compiled = compilePlan({ definition: own, settings, period, sectionPeriods, catalog });
    return counts.why === 'backfill' ? withoutCurrentCounts(compiled) : compiled;
  };
  return done({ answers: answers.value, catalog, secrets, planOf });
}

const valuesOf = ({ by }: SplitSettings, { dimensions }: Catalog) =>
  dimensions.find(({ id }) => id === by)?.values ?? [];

/** The definition of any one value: all values need the same calls. Throws `plan.invalid`. */
function oneDefinition(definition: Definition, split: SplitSettings, catalog: Catalog): Definition {
  const [first] = valuesOf(split, catalog);
  if (first !== undefined) return deskDefinition(definition, deskOf(first.value, first.label));
  throw new DocketError('plan.invalid', `${definition.org}/${definition.report} cannot be split by ${split.by}.`, {
    expected: 'a dimension with values in the catalog',
    got: `"${split.by}"`,
    next: `Correct "split.by"; \`docket catalog --org ${definition.org}\` lists the dimensions.`,
  });
}

/** The values that have a pack, in the order of the catalog, then those that the catalog does not list. */
function plannedPacks(
  context: RunContext,
  split: SplitSettings,
  catalog: Catalog,
  answers: SplitAnswers,
): readonly PlannedPack[] {
  const { definition, settings } = context;
  const withRows = valuesWithRows(answers);
  const listed = valuesOf(split, catalog);
  const known = listed.flatMap(({ value, label }): PlannedPack[] => {
    const isNamed = deskRecipients(definition, value) !== undefined;
    const isOther = !splitRecipients(split).has(value);
    if (isOther && (split.others === 'skip' || !withRows.has(value))) return [];
    const desk = deskOf(value, label);
    const targets = settings.targets && deskTargets(settings.targets, split.by, value);
    const own: RunContext = {
      ...context,
      definition: deskDefinition(definition, desk),
      settings: targets === undefined ? settings : { ...settings, targets },
    };
    const held = isNamed ? {} : { held: `Nobody is named for "${label}" in split.to. Its pack is made and not sent.` };
    return [{ desk, context: own, ...held }];
  });
  const values = new Set(listed.map(({ value }) => value));
  const unlisted = (value: string, why: string): PlannedPack => ({ desk: deskOf(value, value), held: why });
  const missing = [...splitRecipients(split).keys()].filter((value) => !values.has(value));
  const others = [...withRows].filter(
    (value) => value !== null && !values.has(value) && !splitRecipients(split).has(value) && split.others !== 'skip',
  );
  return [
    ...known,
    ...missing.map((value) => unlisted(value, `The catalog lists no "${value}" in ${split.by}: it has no pack.`)),
    ...others.map((value) =>
      unlisted(value ?? '', `The catalog does not list "${value}" in ${split.by}, which has rows: it has no pack.`),
    ),
  ];
}

/** Throws `usage.invalid` for a value without a pack. */
function chosenPacks(packs: readonly PlannedPack[], only: string | undefined): readonly PlannedPack[] {
  if (only === undefined) return packs;
  const chosen = packs.filter(({ desk, context }) => desk.value === only && context !== undefined);
  if (chosen.length > 0) return chosen;
  const known = packs.flatMap(({ desk, context }) => (context === undefined ? [] : [desk.value]));
  throw new DocketError('usage.invalid', `The report has no pack for "${only}".`, {
    expected: known.length > 20 ? `one of ${known.length} values` : known.join(', '),
    got: `"${only}"`,
    next: 'Name a value of "split.by" that has a pack.',
  });
}

const nobodysRows = ({ by }: SplitSettings, { dimensions }: Catalog): string =>
  `Some rows have no ${dimensions.find(({ id }) => id === by)?.label ?? by}: they are in no pack.`;

/** slice → judge. */
function datasetOf(context: RunContext, { value }: Desk, { answers, catalog, planOf }: FetchedPacks): Dataset {
  const own = withOneValue(catalog, answers.plan.by, value);
  const dataset = sliceDataset(answers, planOf(context), value);
  const unsplit = new Set(context.definition.sections.filter(({ split }) => split === false).map(({ id }) => id));
  const tables = dataset.tables.map((table) => (unsplit.has(table.id) ? { ...table, unsplit: true as const } : table));
  return judgedDataset({ ...dataset, tables }, context, own);
}

async function renderPack(
  dataset: Dataset,
  { slug }: Desk,
  context: RunContext,
  {
    order,
    folder,
    madeAt,
    secrets,
  }: Pick<FetchedPacks, 'secrets'> & { readonly order: RunOrder; readonly folder: string; readonly madeAt: number },
  ports: RunPorts,
): Promise<{ readonly manifest: Manifest; readonly files: readonly Artifact[] }> {
  const { definition, settings } = context;
  const own = join(folder, 'packs', slug);
  await mkdir(own, { recursive: true });
  const figures = definition.deliveries.some(({ send_if }) => send_if !== undefined);
  const paths = currentPaths(definition, settings, ports);
  const input = { dataset, folder: own, secrets, madeAt, paths, figures };
  const rendered = await renderRun(input, order, context, ports);
  const decisions = await decideDeliveries(dataset, context, ports, rendered.figures);
  const { files, mail } = await writePackFiles(own, slug, rendered.artifacts, rendered.mail);
  const manifest: Manifest = {
    ...createManifest({ dataset, madeAt }, rendered.artifacts, order, context, ports),
    ...decisions,
    ...(definition.desk === undefined ? {} : { desk: definition.desk }),
    // Those of the run are for all values.
    calls: [],
    mail,
  };
  return { manifest, files };
}

interface RunParts {
  readonly order: RunOrder;
  readonly context: RunContext;
  readonly answers: SplitAnswers;
  readonly records: readonly PackRecord[];
  readonly files: readonly Artifact[];
  readonly unassigned: readonly string[];
  readonly madeAt: number;
}

/** The manifest of the run, which operators see: it names all values. */
function runManifest(
  { order, context, answers, records, files, unassigned, madeAt }: RunParts,
  ports: RunPorts,
): Manifest {
  const { definition, settings } = context;
  const packs = records.flatMap(({ manifest }) => manifest ?? []);
  const dataset: Dataset = {
    org: order.org,
    organization: settings.name ?? settings.id,
    report: order.report,
    title: definition.title,
    owner: definition.owner,
    period: order.period,
    tables: [],
    calls: answers.calls,
    registryVersion: answers.prepared.input.plan.registryVersion,
  };
  const notes = packs.flatMap(({ incomplete }) => incomplete);
  const unique = new Map(notes.map((note) => [JSON.stringify([note.section, note.code, note.text]), note]));
  const { targets = TARGETS } = ports;
  const fixed = definition.deliveries.flatMap((delivery) => describeDelivery(delivery, targets).addresses);
  return {
    ...createManifest({ dataset, madeAt }, files, order, context, ports),
    incomplete: [...unique.values()],
    recipients: [...new Set([...fixed, ...packs.flatMap(({ recipients }) => recipients)])],
    packs: records,
    ...(unassigned.length === 0 ? {} : { unassigned }),
  };
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The page of the run for operators, in place of an e-mail: the packs and their files. It is never sent. */
function runMail({ title, period, packs = [], unassigned = [] }: Manifest, locale: string): RunMail {
  const lines = [
    ...packs.map(({ label, reason, manifest }) => {
      const files = (manifest?.files ?? []).map(({ name }) => name).join(', ');
      return `${label}: ${[files, reason].filter(Boolean).join('. ')}`;
    }),
    ...unassigned,
  ];
  const heading = `${title}, ${period.label}`;
  const list = lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('');
  return {
    body: 'full',
    html: `<!doctype html><html lang="${escapeHtml(locale)}"><meta charset="utf-8"><title>${escapeHtml(heading)}</title><h1>${escapeHtml(heading)}</h1><ul>${list}</ul></html>\n`,
    text: `${[heading, ...lines].join('\n')}\n`,
    pictures: [],
  };
}
