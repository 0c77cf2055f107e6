import { toDocketError } from '../../base/error.ts';
import { done, type Outcome } from '../../base/outcome.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { RunPeriods } from '../../definitions/periods/period.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { buildDesk, deskDefinition } from '../../definitions/split.ts';
import { discardRefused } from '../../fetch/call-runner.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { fetchDataset } from '../../fetch/fetch-dataset.ts';
import { fetchSplit, sliceDataset } from '../../fetch/split/fetch-split.ts';
import { compilePlan } from '../../plan/compile.ts';
import type { Plan } from '../../plan/plan.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { compareEditions, comparePacks, type EditionComparison } from '../../run/corrections/compare-editions.ts';
import { type EditionFigures, editionSections } from '../../run/corrections/edition-figures.ts';
import type { RunPorts } from '../../run/run-context.ts';

export type CheckPorts = Pick<
  RunPorts,
  'client' | 'key' | 'budget' | 'reads' | 'responses' | 'responseCache' | 'catalogs' | 'clock'
>;

export interface EditionCheck {
  readonly comparison: EditionComparison;
  /** When the service computed the oldest of the figures, epoch ms; undefined if it does not say. */
  readonly asOf: number | undefined;
}

/** The sections with figures that can be corrected. */
export const watchedSections = ({
  sections,
  packs = [],
}: Pick<EditionFigures, 'sections' | 'packs'>): readonly string[] => [
  ...new Set([sections, ...packs.map((pack) => pack.sections)].flat().map(({ id }) => id)),
];

/** A check's calls never wait for a token. It continues in a later round, when no run waits for the key. */
const MAX_TOKEN_WAIT_MS = 0;

/**
 * Plans a check: the sections with correctable figures, without what is only compared or charted. If the service would
 * refuse these sections alone, plans the whole definition. Throws `plan.invalid`.
 */
export function planCheck(
  { definition, settings }: Pick<FrozenDefinition, 'definition' | 'settings'>,
  watched: readonly string[],
  periods: RunPeriods,
  catalog: Catalog,
): Plan {
  const compile = (variant: Definition) =>
    compilePlan({ definition: variant, settings, ...periods, bases: false, catalog });
  const { compare: _, to_date: __, headline: ___, ...report } = definition;
  const kept = definition.sections.filter(({ id }) => watched.includes(id));
  const bare = kept.map(({ compare: _compare, to_date: _toDate, trend: _trend, chart: _chart, ...section }) => section);
  try {
    return compile({ ...report, sections: bare, max_age: 0 });
  } catch (thrown) {
    if (toDocketError(thrown).code !== 'plan.invalid') throw thrown;
    return compile({ ...definition, sections: kept, max_age: 0 });
  }
}

/**
 * Requests an edition's figures again, with spare tokens of its key, and compares them. Snoozes while there is no spare
 * token. When called again with the same `id`, makes only the missing calls. Throws `plan.invalid` if the catalog no
 * longer has its metrics.
 *
 * @param id id of this check, under which its responses are stored
 */
export async function checkEdition(
  figures: EditionFigures,
  { definition, settings }: FrozenDefinition,
  ports: CheckPorts,
  { id, signal }: { readonly id: string; readonly signal: AbortSignal },
): Promise<Outcome<EditionCheck>> {
  const tenant = figures.org;
  const shared = { ...ports, run: id, priority: 'correction' as const, maxWaitMs: MAX_TOKEN_WAIT_MS };
  const catalog = await ports.catalogs.get({ ...shared, org: settings.org, tenant }, signal, () => {});
  if (catalog.kind !== 'done') return catalog;
  const { period, section_periods: sectionPeriods } = figures;
  const periods = { period, ...(sectionPeriods === undefined ? {} : { sectionPeriods }) };
  const compile = (variant: Definition) =>
    planCheck({ definition: variant, settings }, watchedSections(figures), periods, catalog.value);
  const input = {
    ...shared,
    organization: tenant,
    catalog: catalog.value,
    calendar: settings,
    // Only lists write files, and this request has none.
    folder: '',
    signal,
    observe: () => {},
  };
  const times: number[] = [];
  const collectSections = ({ tables }: Dataset) => {
    times.push(...tables.map(({ asOf }) => Date.parse(asOf ?? '')).filter((at) => !Number.isNaN(at)));
    return editionSections({ tables }, definition.sections);
  };
  const compareWhole = async (): Promise<Outcome<EditionComparison>> => {
    const dataset = await fetchDataset({ ...input, plan: compile(definition) });
    return dataset.kind === 'done' ? done(compareEditions(figures, collectSections(dataset.value))) : dataset;
  };
  /** Makes one request for all packs, as their runs do. Skips values that the catalog no longer lists. */
  const compareSplit = async (by: string): Promise<Outcome<EditionComparison>> => {
    const listed = catalog.value.dimensions.find((dimension) => dimension.id === by)?.values ?? [];
    const desks = listed.filter(({ value }) => figures.packs?.some((pack) => pack.value === value));
    const planOfDesk = ({ value, label }: (typeof desks)[number]) =>
      compile(deskDefinition(definition, buildDesk(value, label)));
    const [first] = desks;
    if (first === undefined) return done({ changes: [], material: 0 });
    const answers = await fetchSplit({ ...input, plan: planOfDesk(first), by });
    if (answers.kind !== 'done') return answers;
    const slices = new Map<string, ReturnType<typeof collectSections>>();
    for (const desk of desks) {
      const dataset = sliceDataset(answers.value, planOfDesk(desk), desk.value);
      await discardRefused(answers.value.prepared.input, answers.value.results.values(), dataset);
      slices.set(desk.value, collectSections(dataset));
    }
    return done(comparePacks(figures, slices));
  };
  const compared = await (definition.split === undefined ? compareWhole() : compareSplit(definition.split.by));
  if (compared.kind !== 'done') return compared;
  await ports.responses.delete(id);
  const asOf = times.reduce((least, at) => Math.min(least, at), Infinity);
  return done({ comparison: compared.value, asOf: Number.isFinite(asOf) ? asOf : undefined });
}
