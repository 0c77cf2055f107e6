import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { runPageUrl } from '../base/config/public-url.ts';
import { DocketError } from '../base/error.ts';
import { templateDisplay } from '../definitions/display.ts';
import { describeDelivery, type TargetDescription } from '../definitions/schema/kinds.ts';
import { outputFiles } from '../definitions/schema/outputs.ts';
import type { Manifest, PublishedRun } from '../deliver/archive/archive.ts';
import { isReportFile, UNMARKED, unmarkedSlug, writePackFiles } from '../deliver/archive/run-folder/pack-files.ts';
import { TARGETS } from '../deliver/targets/registry.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { type Artifact, MAIL_BODY_NAMES, type MailBodyName } from '../render/artifact.ts';
import type { EmailOptions } from '../render/email/template-data.ts';
import { resolveFormat, type TemplateDefinition } from '../render/formats/format.ts';
import type { RenderOptions } from '../render/render-files.ts';
import type { Rendered, RenderRequest } from '../render/renderer.ts';
import { replacedFiles, storeEditionFigures } from './corrections/corrected-edition.ts';
import { collectBoundaries, editionSections } from './corrections/edition-figures.ts';
import { type ConditionResults, correctionDecisions, evaluateConditions } from './delivery-conditions.ts';
import { currentPaths, type RenderPaths, readOutputFiles, withReplacedFiles } from './review/frozen-templates.ts';
import type { RunContext, RunPorts } from './run-context.ts';
import { timedStage } from './run-events.ts';
import { buildCorrects, createManifest } from './run-manifest.ts';
import type { RunOrder } from './run-record.ts';

/** What a run's files are made from, besides its definition and settings. */
export interface RenderInput {
  readonly dataset: Dataset;
  /** This attempt's private folder. */
  readonly folder: string;
  readonly secrets: RenderOptions['secrets'];
  /** Epoch ms. All files show it as their time of creation. */
  readonly madeAt: number;
  /** Used instead of the current templates and logo if those were frozen earlier. */
  readonly paths?: RenderPaths;
  /** Whether to compute `Rendered.figures`. */
  readonly figures?: boolean;
}

/**
 * Renders the files and the e-mail body in the attempt's private folder, and publishes them with their manifest in one
 * atomic step: a crash leaves no partial run.
 */
export async function renderAndPublish(
  dataset: Dataset,
  folder: string,
  order: RunOrder,
  secrets: RenderOptions['secrets'],
  context: RunContext,
  ports: RunPorts,
): Promise<PublishedRun> {
  const current = currentPaths(context.definition, context.settings, ports);
  // A corrected edition is made from the same templates of workbooks as the original.
  const paths = await withReplacedFiles(current, await replacedFiles(order, ports.editions), folder);
  const figures = context.definition.deliveries.some(({ send_if }) => send_if !== undefined);
  const input = { dataset, folder, secrets, madeAt: ports.clock.now(), paths, figures };
  const rendered = await renderRun(input, order, context, ports);
  const decide = () => decideDeliveries(dataset, context, ports, rendered.figures);
  return publishRun(input, rendered, order, context, ports, decide);
}

/** Renders the files and the e-mail bodies in the private folder. */
export function renderRun(
  { dataset, folder, secrets, madeAt, paths, figures = false }: RenderInput,
  order: RunOrder,
  { definition, settings, signal, observe }: RunContext,
  ports: RunPorts,
): Promise<Rendered> {
  const { clock, trace, publicUrl, render: renderer, targets = TARGETS, formats } = ports;
  const { outputs } = definition;
  const deliveries = definition.deliveries.map((delivery) => describeDelivery(delivery, targets));
  const { templates, logo, orgFolder } = paths ?? currentPaths(definition, settings, ports);
  const request: RenderRequest = {
    dataset,
    outputs,
    files: {
      logo,
      classification: definition.classification ?? settings.classification,
      templates,
      orgFolder,
      definition: outputs.some((output) => outputFiles(output, formats).length > 0)
        ? boundFields({ definition, settings })
        : undefined,
      secrets,
      folder,
      digest: order.digest,
      bundled: deliveries.flatMap(({ attach = [] }) => attach),
    },
    mail: {
      templates,
      bodies: neededBodies(deliveries, outputs),
      pageUrl: runPageUrl(publicUrl, order.id),
      ...scheduleOptions(order, definition, settings),
    },
    run: order.id,
    madeAt,
    // The digest freezes definition and settings, so that a retry writes in the same language.
    locale: definition.locale ?? settings.locale,
    calendar: { fiscal_year_start: settings.fiscal_year_start, week_start: settings.week_start },
    // A corrected edition goes to the original's recipients, whatever has changed.
    figures: figures && dataset.correction === undefined,
  };
  return timedStage('render', { observe, clock, trace }, () => renderer(request, signal));
}

/** Decides on the deliveries with `send_if`. @param figures the hash of the figures, if it was computed already */
export function decideDeliveries(
  dataset: Dataset,
  { definition, signal }: RunContext,
  { sentFigures, targets = TARGETS }: RunPorts,
  figures?: string,
): Promise<ConditionResults> {
  const yieldToEventLoop = () => setImmediate(undefined, { signal });
  return evaluateConditions(dataset, definition, sentFigures, yieldToEventLoop, targets, figures);
}

/**
 * Publishes rendered files with their manifest in one atomic step. @param decide makes the decisions on the deliveries
 */
export async function publishRun(
  input: Omit<RenderInput, 'figures'>,
  rendered: Rendered,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
  decide: () => Promise<ConditionResults & Pick<Manifest, 'review'>>,
): Promise<PublishedRun> {
  const { definition, settings, observe } = context;
  const { archive, clock, editions, formats, trace } = ports;
  const { artifacts, mail } = rendered;
  const unmarked = await renderUnmarked(input, order, context, ports);
  const published = await timedStage('seal', { observe, clock, trace }, async () => {
    const decisions = await decide();
    const edition = await storeEditionFigures(
      () => ({
        sections: editionSections(input.dataset, definition.sections),
        boundaries: collectBoundaries(input.dataset),
      }),
      order,
      {
        definition,
        settings,
        files: () => {
          const { orgFolder } = input.paths ?? currentPaths(definition, settings, ports);
          return readOutputFiles(orgFolder, definition.outputs, formats);
        },
      },
      editions,
    );
    const all = [...artifacts, ...(unmarked?.files ?? [])];
    const manifest = {
      ...createManifest(input, all, order, context, ports),
      ...decisions,
      ...(edition === undefined ? {} : { edition_figures: edition }),
      ...(unmarked && { unmarked: { slug: unmarked.slug, manifest: { ...decisions, ...unmarked.manifest } } }),
    };
    return archive.publish(input.folder, manifest, all, mail);
  });
  for (const { name, bytes } of published.artifacts.filter(isReportFile)) observe({ type: 'rendered', name, bytes });
  return published;
}

/**
 * Renders a corrected edition's file set without the mark, for recipients whose open delivery it withdrew. Undefined
 * without such recipients. Its manifest decides about every recipient, so that nobody gets both sets.
 */
export async function renderUnmarked(
  input: Omit<RenderInput, 'figures'>,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
): Promise<{ readonly slug: string; readonly manifest: Manifest; readonly files: readonly Artifact[] } | undefined> {
  const { correction, ...dataset } = input.dataset;
  if (correction?.unmarked === undefined || correction.unmarked.length === 0) return undefined;
  const { desk } = context.definition;
  const slug = unmarkedSlug(desk);
  const folder = join(input.folder, 'packs', slug);
  await mkdir(folder, { recursive: true });
  const { artifacts, mail: rendered } = await renderRun({ ...input, dataset, folder }, order, context, ports);
  const { files, mail } = await writePackFiles(folder, slug, artifacts, rendered);
  const locale = context.definition.locale ?? context.settings.locale;
  const { corrects } = buildCorrects(input.dataset, locale);
  const manifest: Manifest = {
    ...createManifest({ ...input, dataset }, artifacts, order, context, ports),
    ...(corrects && { corrects: { ...corrects, subject: undefined } }),
    conditions: correctionDecisions(correction, context.definition, ports.targets ?? TARGETS, 'unmarked'),
    ...(desk && { desk }),
    // They are the same as in the run's manifest.
    calls: [],
    mail,
  };
  // No output has this format, so that only this set's delivery uses the files.
  const hidden = ({ part: _part, ...file }: Artifact): Artifact =>
    isReportFile(file) ? { ...file, format: UNMARKED } : file;
  return { slug, manifest, files: files.map(hidden) };
}

/** The definition's fields that templates of workbooks can use. A render thread needs no others. */
function boundFields({ definition, settings }: Pick<RunContext, 'definition' | 'settings'>): TemplateDefinition {
  const { sections, compare, to_date, approval, corrections, on_incomplete, files } = definition;
  const named = files === undefined ? {} : { files };
  const display = templateDisplay(definition, settings);
  return { sections, compare, to_date, ...display, approval, corrections, on_incomplete, ...named };
}

/**
 * The e-mail bodies that the deliveries need, in order, each with the formats that every message with this body
 * attaches.
 */
function neededBodies(
  deliveries: readonly TargetDescription[],
  outputs: RunContext['definition']['outputs'],
): NonNullable<RenderRequest['mail']['bodies']> {
  const emails = deliveries.flatMap(({ body, attach = [] }) => (body === undefined ? [] : [{ body, attach }]));
  const names = [...new Set(emails.map(({ body }) => body))];
  // Without an e-mail delivery, the archive and the page still need the full body.
  return (names.length === 0 ? ['full'] : names).map((name) => {
    const attachments = emails.filter(({ body }) => body === name).map(({ attach }) => attach);
    const attached = outputs
      .map(({ format }) => format)
      .filter((format) => attachments.length > 0 && attachments.every((each) => each.includes(format)));
    return { body: requireBody(name), attached };
  });
}

function requireBody(name: string): MailBodyName {
  const body = MAIL_BODY_NAMES.find((known) => known === name);
  if (body === undefined) throw new DocketError('internal.defect', `A target wants an unknown e-mail body, "${name}".`);
  return body;
}

/** The report's schedules, and whether this run was triggered on demand. */
const scheduleOptions = (
  { trigger }: RunOrder,
  { schedule }: RunContext['definition'],
  { timezone }: RunContext['settings'],
): Pick<EmailOptions, 'schedules' | 'onDemand'> => ({
  schedules: schedule.map(({ cron, timezone: zone = timezone, on, shift }) => ({ cron, timezone: zone, on, shift })),
  onDemand: trigger !== 'schedule',
});

/**
 * Reveals the secrets of the outputs, by format and key. Call it before the first API call: a missing secret must not
 * cost one. Throws `config.secret_missing`.
 */
export async function revealOutputSecrets(
  { outputs }: RunContext['definition'],
  { formats, secrets }: Pick<RunPorts, 'formats' | 'secrets'>,
): Promise<NonNullable<RenderOptions['secrets']>> {
  const revealed: Record<string, Record<string, string>> = {};
  for (const output of outputs) {
    const { format, spec } = resolveFormat(output, formats);
    for (const [key, ref] of Object.entries(format.secrets?.(spec) ?? {})) {
      revealed[output.format] = { ...revealed[output.format], [key]: (await secrets(ref)).reveal() };
    }
  }
  return revealed;
}
