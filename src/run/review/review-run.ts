import { version } from '../../base/context.ts';
import { DocketError } from '../../base/error.ts';
import { cancel, done, type Outcome } from '../../base/outcome.ts';
import { sha256 } from '../../base/sha256.ts';
import { inStagedFolder, type PublishedRun } from '../../deliver/archive/archive.ts';
import { canonicalJson } from '../../plan/requests/call.ts';
import { replacedFiles } from '../corrections/corrected-edition.ts';
import { decideDeliveries } from '../render-stage.ts';
import type { RunContext, RunPorts } from '../run-context.ts';
import type { RunOrder } from '../run-record.ts';
import { incompleteError, type RunResult, toWaitingResult } from '../run-result.ts';
import { decideSplit } from '../split/decide-split.ts';
import { isSplit, type ReviewedFigures, runDataset } from '../split/frozen-split.ts';
import { type FiguresReader, type Frozen, type FrozenInputs, openFigures, storeFigures } from './frozen-figures.ts';
import { currentPaths, type RenderFile, readRenderFiles } from './frozen-templates.ts';
import { type LoadedReview, loadReview, type Reviews } from './load-review.ts';
import { openReviewText, toRunOrder } from './open-review.ts';
import { publishReviewed, reviewedManifest } from './render-reviewed.ts';
import type { NewReviewEvent } from './review-event.ts';
import { createReviewInputs } from './review-inputs.ts';

/**
 * Fetches a run's figures into `folder`, and adds their statuses.
 * @param again whether a reviewer has requested new figures: earlier responses are not used then
 */
export type FetchFigures = (folder: string, again: boolean) => Promise<Outcome<ReviewedFigures>>;

/** The result of one attempt of a reviewed run: files to deliver, or a state that waits for people. */
export type Reviewed =
  | { readonly kind: 'published'; readonly published: PublishedRun }
  | { readonly kind: 'waiting'; readonly result: RunResult };

/** How often other events may come in between before the attempt gives up and is repeated. */
const MAX_STEPS = 50;
/** The author of events that Docket itself appends. */
const DOCKET = { person: 'docket', name: 'Docket', principal: 'docket' } as const;

/**
 * Makes one attempt of a run that waits for people: fetches and freezes its figures, then goes as far as the events of
 * its review allow. The archive has everything it needs, so that any process can repeat it after any interruption.
 */
export async function reviewRun(
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
  fetchFigures: FetchFigures,
): Promise<Outcome<Reviewed>> {
  const { reviews } = ports;
  if (reviews === undefined) throw notReviewableError(order);
  // Checked before any call: a store that can lose approvals cannot be used.
  await reviews.assertUsable(order);
  for (let step = 0; step < MAX_STEPS; step += 1) {
    context.signal.throwIfAborted();
    const review = await loadReview(reviews, order);
    const { state } = review;
    // The sweep closes the review later, once the run's record has this state and the authors were notified.
    if (state.phase === 'rejected' || state.phase === 'cancelled') return cancel(endReason(review));
    if (state.figures === null || state.content === null) {
      const outcome = await storeFetched(order, review, context, ports, reviews, fetchFigures);
      if (outcome.kind !== 'done') return outcome;
      continue;
    }
    const figures = await openFigures(reviews, order, state.figures);
    if (figures.inputs.definition.digest !== context.definition.digest) {
      // After Redis was lost, the slot was opened again with another version. These figures belong to other sections.
      const outcome = await storeFetched(order, review, context, ports, reviews, fetchFigures);
      if (outcome.kind !== 'done') return outcome;
      continue;
    }
    const { figures: hash, content, phase } = state;
    const storeAgain = (files?: readonly RenderFile[]): Promise<void> =>
      inStagedFolder(order, ports, async (folder) => {
        const again = await freezeAgain(figures, folder, order, context, ports, reviews, files);
        await append(order, review, { type: 'figures', figures: again }, ports, reviews);
      });
    if (!isRenderedAlike(figures.inputs, context)) {
      await storeAgain();
      continue;
    }
    /**
     * Repairs a frozen template that cannot be used. Nobody has seen a result of it, so once the current template is
     * fixed, it is used instead.
     */
    const withTemplateRepair = async <T>(render: Promise<T>): Promise<T | 'replaced'> => {
      try {
        return await render;
      } catch (error) {
        if (!(error instanceof DocketError) || error.code !== 'template.invalid' || state.approvals.length > 0)
          throw error;
        const files = await changedRenderFiles(figures, context, ports);
        if (files === undefined) throw error;
        await storeAgain(files);
        return 'replaced';
      }
    };
    const frozen = { figures, hash, content, state };
    if (phase === 'sealed') {
      const published = await withTemplateRepair(
        inStagedFolder(order, ports, (folder) => publishReviewed(frozen, folder, order, context, ports)),
      );
      if (published === 'replaced') continue;
      return done({ kind: 'published', published });
    }
    if (phase === 'ready') {
      // Keeps what was approved as it was shown, even if the last approval came before it was rendered.
      if (state.approvals.length > 0) await reviewedManifest(frozen, order, context, ports, reviews);
      await append(order, review, { type: 'seal', content }, ports, reviews);
      continue;
    }
    const manifest = await withTemplateRepair(reviewedManifest(frozen, order, context, ports, reviews));
    if (manifest === 'replaced') continue;
    const waiting = phase === 'approval' ? 'awaiting_approval' : 'held';
    const error = waitingError(review, manifest.incomplete);
    const progress = { seq: state.seq, phase, content };
    return done({ kind: 'waiting', result: toWaitingResult(waiting, manifest, progress, error) });
  }
  throw new DocketError('run.conflict', `The review of run ${order.id} keeps changing.`, { retryable: true });
}

/** Fetches and freezes figures, and appends them to the review. */
async function storeFetched(
  order: RunOrder,
  review: LoadedReview,
  context: RunContext,
  ports: RunPorts,
  reviews: Reviews,
  fetchFigures: FetchFigures,
): Promise<Outcome<void>> {
  return inStagedFolder(order, ports, async (folder): Promise<Outcome<void>> => {
    const fetched = await fetchFigures(folder, review.inputs !== undefined);
    if (fetched.kind !== 'done') return fetched;
    const figures = await freezeFigures(fetched.value, folder, order, context, ports, reviews);
    // The stored responses belong to these figures. A crash before this line has the same effect as an interrupted
    // fetch.
    await ports.responses.delete(order.id);
    await append(order, review, { type: 'figures', figures }, ports, reviews);
    return done(undefined);
  });
}

type OwnEvent =
  | Pick<Extract<NewReviewEvent, { type: 'figures' }>, 'type' | 'figures'>
  | Pick<Extract<NewReviewEvent, { type: 'seal' }>, 'type' | 'content'>;

/** Appends an event, unless another one came in between. In both cases the caller reads the review again. */
async function append(
  order: RunOrder,
  { events, state }: LoadedReview,
  event: OwnEvent,
  { clock }: Pick<RunPorts, 'clock'>,
  reviews: Reviews,
): Promise<void> {
  // Another machine's clock may be ahead, but the list must be in order of time.
  const at = Math.max(clock.now(), events.at(-1)?.at ?? 0);
  await reviews.append(order, state.seq + 1, { ...event, seq: state.seq + 1, at, by: DOCKET });
}

function waitingError(
  { state }: LoadedReview,
  incomplete: Parameters<typeof incompleteError>[1],
): DocketError | undefined {
  if (state.phase === 'incomplete') return incompleteError('run.held', incomplete);
  if (state.phase !== 'comments') return undefined;
  const { missingComments: missing } = state;
  return new DocketError('run.comments_missing', `Comments are missing on: ${missing.join(', ')}.`, {
    expected: 'a comment on each section that requires one',
    got: `${missing.length} missing`,
    next: 'Write them on the page of the run, or with `docket comment`; nothing was sent.',
  });
}

function endReason({ events, state }: LoadedReview): string {
  const last = events.findLast(({ type }) => type === (state.phase === 'rejected' ? 'reject' : 'cancel'));
  const reason = last !== undefined && 'reason' in last ? last.reason : '';
  const verb = state.phase === 'rejected' ? 'rejected' : 'cancelled';
  return `The run was ${verb} by ${last?.by.name ?? 'Docket'}: ${reason}`;
}

const notReviewableError = ({ org, report }: RunOrder): DocketError =>
  new DocketError('review.not_approved', `${org}/${report} waits for people before it is delivered.`, {
    expected: 'workers and an archive, which store the run while it waits',
    next: 'Set REDIS_URL. `--no-deliver` creates the files without delivering them.',
  });

/** Freezes figures with everything from which files are rendered. @returns SHA-256 (hex). @param figures judged */
async function freezeFigures(
  figures: ReviewedFigures,
  folder: string,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
  reviews: Reviews,
): Promise<string> {
  const { definition, settings } = context;
  const decided = await decide(figures, folder, order, context, ports);
  const files = await readRenderFiles(
    currentPaths(definition, settings, ports),
    definition,
    ports.formats,
    await replacedFiles(order, ports.editions),
  );
  // Opened before the first event, so that a process that finds the review after Redis was lost can continue it.
  await reviews.open(order, openReviewText({ order, definition, settings }));
  const frozen = { ...decided, files, docket: version(), madeAt: ports.clock.now() };
  return storeFigures(reviews, order, { ...frozen, order, definition, settings }, folder);
}

/** Makes the decisions on deliveries, and the inputs of the review. @param frozen decisions that were made before */
async function decide(
  figures: ReviewedFigures,
  folder: string,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
  frozen?: FrozenInputs['conditions'],
): Promise<Pick<Frozen, 'dataset' | 'split' | 'review' | 'conditions'>> {
  if (isSplit(figures)) {
    const dataset = runDataset(figures, order, context);
    return { dataset, conditions: { conditions: [] }, ...(await decideSplit(figures, folder, order, context, ports)) };
  }
  const { definition, settings } = context;
  const conditions = frozen ?? (await decideDeliveries(figures, context, ports));
  const review = createReviewInputs(figures, order, definition, settings, conditions);
  return { dataset: figures, conditions, review };
}

/**
 * Whether this process renders the same files from stored figures as the process that stored them: same version of
 * Docket, definition and settings. Access control is not frozen: current recipients and keys apply.
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
 * The files that rendering would read now, if they differ from the frozen ones; undefined if they do not. Throws
 * `template.invalid` as `readRenderFiles`.
 */
async function changedRenderFiles(
  figures: FiguresReader,
  { definition, settings }: Pick<RunContext, 'definition' | 'settings'>,
  ports: RunPorts,
): Promise<readonly RenderFile[] | undefined> {
  const files = await readRenderFiles(currentPaths(definition, settings, ports), definition, ports.formats);
  const keyOf = (all: readonly RenderFile[]): string =>
    JSON.stringify(all.map(({ path, bytes }) => [path, sha256(bytes)]));
  return keyOf(files) === keyOf(await figures.files()) ? undefined : files;
}

/**
 * Freezes the same figures and decisions for this version of Docket, which starts their review again. @returns SHA-256
 * (hex)
 * @param files replace the frozen files
 */
async function freezeAgain(
  figures: FiguresReader,
  folder: string,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
  reviews: Reviews,
  files?: readonly RenderFile[],
): Promise<string> {
  const { madeAt, conditions } = figures.inputs;
  const { definition, settings } = context;
  const stored = (await figures.split()) ?? (await figures.dataset(folder));
  const frozen = {
    ...(await decide(stored, folder, order, context, ports, conditions)),
    files: files ?? (await figures.files()),
    docket: version(),
    madeAt,
    definition,
    settings,
  };
  return storeFigures(reviews, order, { ...frozen, order: toRunOrder(order) }, folder);
}
