import { DocketError } from '../../base/error.ts';
import { done, type Outcome } from '../../base/outcome.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { type Desk, type SplitSettings, splitRecipients } from '../../definitions/schema/split.ts';
import { buildDesk, deskDefinition, deskRecipients, deskTargets } from '../../definitions/split.ts';
import { discardRefused } from '../../fetch/call-runner.ts';
import { withoutCurrentCounts } from '../../fetch/current-counts.ts';
import type { Dataset, Table } from '../../fetch/dataset.ts';
import { incompleteNotes } from '../../fetch/notes.ts';
import { iterateRows } from '../../fetch/rows.ts';
import {
  fetchSplit,
  type SplitAnswers,
  sliceDataset,
  valuesWithRows,
  withOneValue,
} from '../../fetch/split/fetch-split.ts';
import { compilePlan } from '../../plan/compile.ts';
import type { RenderOptions } from '../../render/render-files.ts';
import { judgedDataset } from '../judged-dataset.ts';
import { isPrepared, makePlan, planContext } from '../make-plan.ts';
import { revealOutputSecrets } from '../render-stage.ts';
import type { RunContext, RunPorts } from '../run-context.ts';
import { timedStage } from '../run-events.ts';
import { currentCountsWindow } from '../run-order.ts';
import type { RunOrder } from '../run-record.ts';
import { incompleteError } from '../run-result.ts';
import { correctedPacks } from './correct-packs.ts';
import type { PackFigures, SplitFigures } from './frozen-split.ts';

export interface FetchedFigures {
  readonly figures: SplitFigures;
  readonly secrets: RenderOptions['secrets'];
}

/** A value with its report, or the reason why it has none. */
interface PlannedPack extends Pick<PackFigures, 'desk' | 'held'> {
  /** Absent: the pack cannot be made. */
  readonly context?: RunContext;
}

interface FetchedPacks {
  readonly answers: SplitAnswers;
  readonly catalog: Catalog;
  readonly planOf: (context: RunContext) => ReturnType<typeof compilePlan>;
}

/** The report of one value, with its targets. It contains nothing about other values. */
export function packContext(context: RunContext, desk: Desk): RunContext {
  const { definition, settings } = context;
  const targets =
    settings.targets && definition.split && deskTargets(settings.targets, definition.split.by, desk.value);
  return {
    ...context,
    definition: deskDefinition(definition, desk),
    settings: targets === undefined ? settings : { ...settings, targets },
  };
}

/** plan → fetch, once for all values. */
export async function fetchSplitFigures(
  order: RunOrder,
  givenContext: RunContext,
  ports: RunPorts,
  folder: string,
): Promise<Outcome<FetchedFigures>> {
  const context = planContext(order, givenContext);
  const { definition, settings, signal, observe } = context;
  const { split } = definition;
  if (split === undefined) throw new Error('The report has no split.');
  if (typeof split.to === 'string') {
    throw new DocketError('definition.invalid', `The list ${split.to} of ${order.org}/${order.report} was not read.`, {
      next: 'Put it beside org.yaml.',
    });
  }
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
  const input = {
    ...ports,
    run,
    priority,
    ...data,
    folder,
    signal,
    observe,
    fresh: context.fresh,
    prepared: isPrepared(order, definition),
  };
  const fetched = await timedStage('fetch', stageContext, () => fetchSplit(input));
  if (fetched.kind !== 'done') return fetched;
  const answers = fetched.value;
  const planOf = ({ definition: own }: RunContext) => {
    const compiled = compilePlan({ definition: own, settings, period, sectionPeriods, catalog });
    return counts.why === 'backfill' ? withoutCurrentCounts(compiled) : compiled;
  };
  const packs = chosenPacks(plannedPacks(context, split, catalog, answers, order), order.value);
  const figures: SplitFigures = {
    packs: packs.map(({ desk, held, context: own }): PackFigures => {
      const dataset = own && (() => buildDataset(own, desk, { answers, catalog, planOf }));
      return { desk, held, dataset };
    }),
    unassigned: split.others !== 'skip' && valuesWithRows(answers).has(null) ? [nobodysRows(split, catalog)] : [],
    calls: answers.calls,
    registryVersion: answers.prepared.input.plan.registryVersion,
  };
  const corrected = await correctedPacks(figures, order, context, ports);
  return corrected.kind === 'done' ? done({ figures: corrected.value, secrets }) : corrected;
}

const collectValues = ({ by }: SplitSettings, { dimensions }: Catalog) =>
  dimensions.find(({ id }) => id === by)?.values ?? [];

/** The definition of any one value, because all values need the same calls. Throws `plan.invalid`. */
function oneDefinition(definition: Definition, split: SplitSettings, catalog: Catalog): Definition {
  const [first] = collectValues(split, catalog);
  if (first !== undefined) return deskDefinition(definition, buildDesk(first.value, first.label));
  throw new DocketError('plan.invalid', `${definition.org}/${definition.report} cannot be split by ${split.by}.`, {
    expected: 'a dimension with values in the catalog',
    got: `"${split.by}"`,
    next: `Correct "split.by"; \`docket catalog --org ${definition.org}\` lists the dimensions.`,
  });
}

/** The values that have a pack: first those in the catalog, in its order, then the others. */
function plannedPacks(
  context: RunContext,
  split: SplitSettings,
  catalog: Catalog,
  answers: SplitAnswers,
  { corrects }: Pick<RunOrder, 'corrects'>,
): readonly PlannedPack[] {
  const { definition } = context;
  const withRows = valuesWithRows(answers);
  const listed = collectValues(split, catalog);
  const known = listed.flatMap(({ value, label }): PlannedPack[] => {
    const isNamed = deskRecipients(definition, value) !== undefined;
    const isOther = !splitRecipients(split).has(value);
    // A correction goes to those who have the pack, whoever is named now.
    if (isOther && corrects === undefined && (split.others === 'skip' || !withRows.has(value))) return [];
    const desk = buildDesk(value, label);
    const held = isNamed ? {} : { held: `split.to has nobody for "${label}". Its pack is created and not sent.` };
    return [{ desk, context: packContext(context, desk), ...held }];
  });
  const values = new Set(listed.map(({ value }) => value));
  const unlisted = (value: string, why: string): PlannedPack => ({ desk: buildDesk(value, value), held: why });
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

/** slice → judge. Throws `run.incomplete` with `on_incomplete: fail`. */
async function buildDataset(
  context: RunContext,
  { value }: Desk,
  { answers, catalog, planOf }: FetchedPacks,
): Promise<Dataset> {
  const own = withOneValue(catalog, answers.plan.by, value);
  const dataset = sliceDataset(answers, planOf(context), value);
  await discardRefused(answers.prepared.input, answers.results.values(), dataset);
  const unsplit = new Set(context.definition.sections.filter(({ split }) => split === false).map(({ id }) => id));
  const tables = dataset.tables.map((table) =>
    unsplit.has(table.id) ? { ...table, unsplit: true as const } : withOwnValues(table),
  );
  const incomplete = incompleteError('run.incomplete', incompleteNotes(dataset));
  if (context.definition.on_incomplete === 'fail' && incomplete !== undefined) throw incomplete;
  return judgedDataset({ ...dataset, tables }, context, own);
}

/**
 * The table's columns list only values from its own rows: other values of the catalog may occur only in other packs.
 */
function withOwnValues(table: Table): Table {
  const rows = [...iterateRows(table.rows)];
  const columns = table.columns.map((column) => {
    if (column.values === undefined) return column;
    const own = new Set(rows.map((row) => row.values[column.name]));
    return { ...column, values: column.values.filter(({ value }) => own.has(value)) };
  });
  return { ...table, columns };
}
