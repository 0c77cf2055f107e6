import { version } from '../../base/context.ts';
import { sha256 } from '../../base/sha256.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { canonicalJson } from '../../plan/requests/call.ts';
import { replacedFiles } from '../corrections/corrected-edition.ts';
import { decideDeliveries } from '../render-stage.ts';
import type { RunContext, RunPorts } from '../run-context.ts';
import type { RunOrder } from '../run-record.ts';
import { type FiguresReader, type FrozenInputs, storeFigures } from './frozen-figures.ts';
import { currentPaths, type RenderFile, readRenderFiles } from './frozen-templates.ts';
import type { Reviews } from './load-review.ts';
import { openReviewText, orderOf } from './open-review.ts';
import { createReviewInputs } from './review-inputs.ts';

/** Freezes figures with everything that is rendered from. @returns SHA-256 (hex). @param dataset judged */
export async function freezeFigures(
  dataset: Dataset,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
  reviews: Reviews,
): Promise<string> {
  const { definition, settings } = context;
  const conditions = await decideDeliveries(dataset, context, ports);
  const files = await readRenderFiles(
    currentPaths(definition, settings, ports),
    definition,
    await replacedFiles(order, ports.editions),
  );
  const review = createReviewInputs(dataset, order, definition, settings, conditions);
  // Before the first event: a process that finds the review after Redis was lost can continue it.
  await reviews.open(order, openReviewText({ order, definition, settings }));
  const frozen = { dataset, review, files, docket: version(), madeAt: ports.clock.now(), conditions };
  return storeFigures(reviews, order, { ...frozen, order, definition, settings });
}

/**
 * Whether this process renders the same files from stored figures as the one that stored them: the same version of Docket,
 * definition and settings. Access control is not frozen: recipients and keys are the current ones.
 */
export const isRenderedAlike = (
  { docket, definition, settings }: FrozenInputs,
  context: Pick<RunContext, 'definition' | 'settings'>,
): boolean => docket === version() && renderText({ definition, settings }) === renderText(context);

const renderText = ({ definition, settings }: Pick<RunContext, 'definition' | 'settings'>): string => {
  const { recipients, api_key, allow_private, secrets, destinations, smtp, ...rest } = settings;
  return canonicalJson({ definition, settings: rest });
};

/**
 * The files that rendering reads today, where they are not those that were frozen with the figures; undefined where they are.
 * Throws `template.invalid` as `readRenderFiles`.
 */
export async function changedRenderFiles(
  figures: FiguresReader,
  { definition, settings }: Pick<RunContext, 'definition' | 'settings'>,
  ports: RunPorts,
): Promise<readonly RenderFile[] | undefined> {
  const files = await readRenderFiles(currentPaths(definition, settings, ports), definition);
  const keyOf = (all: readonly RenderFile[]): string =>
    JSON.stringify(all.map(({ path, bytes }) => [path, sha256(bytes)]));
  return keyOf(files) === keyOf(await figures.files()) ? undefined : files;
}

/**
 * The same figures and decisions, for this version of Docket: they are reviewed again. @returns SHA-256 (hex)
 * @param files replace those that were frozen
 */
export async function freezeAgain(
  figures: FiguresReader,
  dataset: Dataset,
  order: RunOrder,
  { definition, settings }: RunContext,
  reviews: Reviews,
  files?: readonly RenderFile[],
): Promise<string> {
  const { inputs } = figures;
  const review = createReviewInputs(dataset, order, definition, settings, inputs.conditions);
  const { madeAt, conditions } = inputs;
  const frozen = {
    dataset,
    review,
    files: files ?? (await figures.files()),
    docket: version(),
    madeAt,
    conditions,
    definition,
    settings,
  };
  return storeFigures(reviews, order, { ...frozen, order: orderOf(order) });
}
