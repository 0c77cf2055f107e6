import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { done, type Outcome } from '../../base/outcome.ts';
import { describeDelivery } from '../../definitions/schema/kinds.ts';
import { inStagedFolder, type Manifest, type PublishedRun } from '../../deliver/archive/archive.ts';
import type { PackRecord } from '../../deliver/archive/manifest.ts';
import { isReportFile, writePackFiles } from '../../deliver/archive/run-folder/pack-files.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import type { RunMail } from '../../render/artifact.ts';
import type { Rendered } from '../../render/renderer.ts';
import { storeEditionFigures } from '../corrections/corrected-edition.ts';
import { collectBoundaries, editionSections, type PackEdition } from '../corrections/edition-figures.ts';
import { resolveLocale } from '../judged-dataset.ts';
import { decideDeliveries, type RenderInput, renderRun, renderUnmarked } from '../render-stage.ts';
import { currentPaths } from '../review/frozen-templates.ts';
import type { RunContext, RunPorts } from '../run-context.ts';
import { timedStage } from '../run-events.ts';
import { createManifest } from '../run-manifest.ts';
import type { RunOrder } from '../run-record.ts';
import { type PackFigures, runDataset, type SplitFigures } from './frozen-split.ts';
import { fetchSplitFigures, packContext } from './split-figures.ts';

/** How a run's packs are rendered. */
export interface PackInput extends Pick<RenderInput, 'folder' | 'secrets' | 'madeAt' | 'paths'> {
  /** Adds comments and approvals to the figures before they are printed. Absent: nothing is added. */
  readonly printed?: (dataset: Dataset) => Dataset;
  /** What the manifests say about the review. */
  readonly review?: Manifest['review'];
}

/** The run's manifest, and the files and page of all packs. */
export interface RenderedPacks extends Rendered {
  readonly manifest: Manifest;
  /** With `corrections`: the figures that are later compared with the service's. */
  readonly editions: readonly PackEdition[];
}

/**
 * For a report with `split`: fetches once for all values, then renders each value's pack in turn, in a private folder
 * that is deleted unless it was published. Each pack is made only from its own dataset and definition.
 */
export const buildPacks = (order: RunOrder, context: RunContext, ports: RunPorts): Promise<Outcome<PublishedRun>> =>
  inStagedFolder(order, ports, async (folder) => {
    const fetched = await fetchSplitFigures(order, context, ports, folder);
    if (fetched.kind !== 'done') return fetched;
    const { figures, secrets } = fetched.value;
    const printed = (dataset: Dataset) => ports.annotate?.(dataset, resolveLocale(context)) ?? dataset;
    const input = { folder, secrets, madeAt: ports.clock.now(), printed };
    const rendered = await renderPacks(figures, input, order, context, ports);
    return done(await publishPacks(rendered, folder, order, context, ports));
  });

/** Renders each value's pack in turn. */
export async function renderPacks(
  figures: SplitFigures,
  input: PackInput,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
): Promise<RenderedPacks> {
  const records: PackRecord[] = [];
  const files: Rendered['artifacts'][number][] = [];
  const editions: PackEdition[] = [];
  for (const pack of figures.packs) {
    context.signal.throwIfAborted();
    const { desk, held } = pack;
    const state = held === undefined ? { state: 'ready' as const } : { state: 'held' as const, reason: held };
    const made = await renderPack(pack, input, order, packContext(context, desk), ports);
    records.push({ ...desk, ...state, ...(made === undefined ? {} : { manifest: made.manifest }) });
    files.push(...(made?.files ?? []));
    if (made !== undefined && held === undefined && context.definition.corrections !== undefined)
      editions.push({ value: desk.value, ...made.figures() });
  }
  const manifest = runManifest({ order, context, figures, records, files, input }, ports);
  return { manifest, artifacts: files, mail: runMail(manifest, resolveLocale(context)), editions };
}

/** Publishes rendered packs with their manifest in one atomic step. */
export async function publishPacks(
  { manifest, artifacts, mail, editions: made }: RenderedPacks,
  folder: string,
  order: RunOrder,
  { definition, settings, observe }: RunContext,
  { archive, clock, editions, trace }: RunPorts,
): Promise<PublishedRun> {
  const published = await timedStage('seal', { observe, clock, trace }, async () => {
    const { corrects } = order;
    const kept = corrects === undefined ? undefined : await editions?.replacedBy({ ...order, corrects });
    const own = new Set(made.map(({ value }) => value));
    // Packs that this edition does not correct are still watched.
    const others = kept?.figures?.packs?.filter(({ value }) => !own.has(value)) ?? [];
    const figures = () => ({ sections: [], boundaries: [], packs: [...made, ...others] });
    const edition = await storeEditionFigures(
      figures,
      order,
      { definition, settings, files: async () => [] },
      editions,
    );
    const stored = { ...manifest, ...(edition === undefined ? {} : { edition_figures: edition }) };
    return archive.publish(folder, stored, artifacts, mail);
  });
  for (const { name, bytes } of published.artifacts.filter(isReportFile)) observe({ type: 'rendered', name, bytes });
  return published;
}

interface RenderedPack {
  readonly manifest: Manifest;
  readonly files: Rendered['artifacts'];
  readonly figures: () => Omit<PackEdition, 'value'>;
}

/** @param context the pack's own context */
async function renderPack(
  { desk, dataset: read, conditions }: PackFigures,
  input: PackInput,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
): Promise<RenderedPack | undefined> {
  if (read === undefined) return undefined;
  const { folder, secrets, madeAt, printed, review } = input;
  const paths = input.paths ?? currentPaths(context.definition, context.settings, ports);
  const own = join(folder, 'packs', desk.slug);
  await mkdir(own, { recursive: true });
  const judged = await read(own);
  const dataset = printed?.(judged) ?? judged;
  const figures =
    conditions === undefined && context.definition.deliveries.some(({ send_if }) => send_if !== undefined);
  const shown = { dataset, folder: own, secrets, madeAt, paths };
  const rendered = await renderRun({ ...shown, figures }, order, context, ports);
  const decisions = conditions ?? (await decideDeliveries(dataset, context, ports, rendered.figures));
  const unmarked = await renderUnmarked(shown, order, context, ports);
  const { files, mail } = await writePackFiles(own, desk.slug, rendered.artifacts, rendered.mail);
  const manifest: Manifest = {
    ...createManifest({ dataset, madeAt }, rendered.artifacts, order, context, ports),
    ...decisions,
    desk,
    // The run's calls are for all values.
    calls: [],
    mail,
    ...(unmarked && { unmarked: { slug: unmarked.slug, manifest: { ...decisions, ...unmarked.manifest } } }),
    // The run's manifest has the comments of all packs.
    ...(review === undefined ? {} : { review: { ...review, comments: [] } }),
  };
  const { sections } = context.definition;
  const edition = () => ({ sections: editionSections(judged, sections), boundaries: collectBoundaries(judged) });
  return { manifest, files: [...files, ...(unmarked?.files ?? [])], figures: edition };
}

interface RunParts {
  readonly order: RunOrder;
  readonly context: RunContext;
  readonly figures: SplitFigures;
  readonly records: readonly PackRecord[];
  readonly files: Rendered['artifacts'];
  readonly input: Pick<PackInput, 'madeAt' | 'review'>;
}

/** Makes the run's manifest, which only operators see: it names all values. */
function runManifest({ order, context, figures, records, files, input }: RunParts, ports: RunPorts): Manifest {
  const { definition } = context;
  const packs = records.flatMap(({ manifest }) => manifest ?? []);
  const { unassigned } = figures;
  const dataset = runDataset(figures, order, context);
  const notes = packs.flatMap(({ incomplete }) => incomplete);
  const unique = new Map(notes.map((note) => [JSON.stringify([note.section, note.code, note.text]), note]));
  const { targets = TARGETS } = ports;
  const fixed = definition.deliveries.flatMap((delivery) => describeDelivery(delivery, targets).addresses);
  return {
    ...createManifest({ dataset, madeAt: input.madeAt }, files, order, context, ports),
    incomplete: [...unique.values()],
    recipients: [...new Set([...fixed, ...packs.flatMap(({ recipients }) => recipients)])],
    packs: records,
    ...(unassigned.length === 0 ? {} : { unassigned }),
    ...combineCorrects(order, packs),
    ...(input.review === undefined ? {} : { review: input.review }),
  };
}

/** For a corrected edition: the corrections of all its packs together. */
function combineCorrects({ corrects: run }: RunOrder, packs: readonly Manifest[]): Pick<Manifest, 'corrects'> {
  const all = packs.flatMap(({ corrects }) => corrects ?? []);
  const [first] = all;
  if (run === undefined || first === undefined) return {};
  const greatest = (key: 'edition' | 'automatic') => Math.max(...all.map(({ [key]: number = 0 }) => number));
  const changes = all.reduce((sum, one) => sum + one.changes, 0);
  return { corrects: { run, at: first.at, changes, edition: greatest('edition'), automatic: greatest('automatic') } };
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The run's page for operators, which lists the packs and their files, in place of an e-mail. It is never sent. */
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
