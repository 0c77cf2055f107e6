import { sha256 } from '../../base/sha256.ts';
import { canonicalJson } from '../../plan/requests/call.ts';
import { buildDelegation, delegationRefusal, findVoter, involvedIn, isBarred, sharesVote } from './delegations.ts';
import type { ReviewActor, ReviewEvent } from './review-event.ts';
import type { ReviewInputs } from './review-inputs.ts';
import { commentKey, type ReviewComment, type ReviewPhase, type ReviewState, type Voter } from './review-state.ts';

type Approvals = ReviewState['approvals'];

/** The state after some events, without what can be derived from it. */
interface Progress {
  readonly figures: string | null;
  /** The printed comments by `commentKey`; `versions` counts the versions of each. */
  readonly comments: ReadonlyMap<string, ReviewComment>;
  readonly versions: ReadonlyMap<string, number>;
  /** The authors of each printed comment, since it was last withdrawn. */
  readonly authors: ReadonlyMap<string, readonly ReviewActor[]>;
  readonly approvals: Approvals;
  readonly delegations: ReviewState['delegations'];
  readonly released: boolean;
  readonly ended: 'sealed' | 'rejected' | 'cancelled' | null;
}

const NOTHING: Progress = {
  figures: null,
  comments: new Map(),
  versions: new Map(),
  authors: new Map(),
  approvals: [],
  delegations: [],
  released: false,
  ended: null,
};

/**
 * Computes the state of a run's review from its events. Pure: the same events and inputs give the same state in every
 * process.
 *
 * Events that do not count change only `seq`: a decision on content that is no longer current, a decision by somebody
 * who may not make it, a second approval by one person, and anything after the end. Only new figures can follow a seal:
 * the worker stores them if the sealed content was never published.
 *
 * @param events in order, from the first
 * @param inputs those of the last `figures` event; undefined before the first. Inputs of earlier figures are not
 * needed: decisions on earlier figures no longer count
 */
export function reviewState(events: readonly ReviewEvent[], inputs: ReviewInputs | undefined): ReviewState {
  const last = events.findLastIndex(({ type }) => type === 'figures');
  let progress = NOTHING;
  let phase: ReviewPhase = 'figures';
  let since: number | null = null;
  events.forEach((event, index) => {
    if (event.type === 'delegate') progress = withDelegation(progress, event, events.slice(0, index), inputs);
    else progress = index < last ? followHistory(progress, event) : follow(progress, event, inputs);
    const next = index < last ? (progress.ended ?? 'figures') : determinePhase(progress, inputs);
    if (next !== phase) since = next === 'figures' ? null : event.at;
    phase = next;
  });
  const comments = commentsInOrder(progress, inputs);
  return {
    seq: events.at(-1)?.seq ?? 0,
    phase,
    figures: progress.figures,
    content: hashContent(progress, inputs),
    comments,
    missingComments: missingComments(progress, inputs),
    approvals: progress.approvals,
    need: inputs?.approval?.need ?? 0,
    delegations: progress.delegations,
    authors: authorsIn(progress),
    since,
  };
}

/** Applies an event from before the last figures: comments stay, decisions on earlier figures no longer count. */
function followHistory(progress: Progress, event: ReviewEvent): Progress {
  if (event.type === 'comment') return withComment(progress, event);
  return event.type === 'cancel' ? { ...progress, ended: 'cancelled' } : progress;
}

/** Approvers keep their deputies when the figures change. */
function withDelegation(
  progress: Progress,
  event: Extract<ReviewEvent, { type: 'delegate' }>,
  events: readonly ReviewEvent[],
  inputs: ReviewInputs | undefined,
): Progress {
  const before = { ...progress, authors: authorsIn(progress), events };
  if (inputs === undefined || delegationRefusal(event, before, inputs) !== null) return progress;
  return { ...progress, delegations: [...progress.delegations, buildDelegation(event, inputs)] };
}

function follow(
  progress: Progress,
  event: Exclude<ReviewEvent, { type: 'delegate' }>,
  inputs: ReviewInputs | undefined,
): Progress {
  const { ended } = progress;
  // New figures replace a seal whose content was never published. Any other end is final.
  if (ended !== null && !(ended === 'sealed' && event.type === 'figures')) return progress;
  switch (event.type) {
    // These events come after the seal; `added-recipients.ts` evaluates them.
    case 'recipient':
    case 'admit':
      return progress;
    case 'figures':
      return { ...progress, figures: event.figures, ...undecided };
    case 'comment':
      return { ...withComment(progress, event), ...undecided };
    case 'cancel':
      return { ...progress, ended: 'cancelled' };
  }
  // All remaining events name the content that they decide on.
  if (inputs === undefined || event.content !== hashContent(progress, inputs)) return progress;
  switch (event.type) {
    case 'release':
      return { ...progress, released: true };
    case 'approve': {
      const by = countedVoter(progress, event, inputs);
      if (by === undefined) return progress;
      const { at, reason, repeats } = event;
      const approval = { by, at, reason, ...(repeats && { repeats }) };
      return { ...progress, approvals: [...progress.approvals, approval] };
    }
    case 'reject':
      if (inputs.approval !== undefined && findVoter(event.by, event.at, progress, inputs) === undefined)
        return progress;
      return event.refetch ? { ...progress, figures: null, ...undecided } : { ...progress, ended: 'rejected' };
    case 'seal':
      return determinePhase(progress, inputs) === 'ready' ? { ...progress, ended: 'sealed' } : progress;
  }
}

/** Applied when the content changes: earlier decisions concerned the earlier content. */
const undecided = { approvals: [], released: false, ended: null } as const;

function withComment(progress: Progress, event: Extract<ReviewEvent, { type: 'comment' }>): Progress {
  const { section, value, text, by, at } = event;
  const key = commentKey(event);
  const version = (progress.versions.get(key) ?? 0) + 1;
  const comments = new Map(progress.comments);
  const authors = new Map(progress.authors);
  if (text === null) {
    comments.delete(key);
    authors.delete(key);
  } else {
    comments.set(key, { section, ...(value === undefined ? {} : { value }), text, by, at, version });
    authors.set(key, [...(authors.get(key) ?? []), by]);
  }
  return { ...progress, comments, authors, versions: new Map(progress.versions).set(key, version) };
}

/** As whom an approval counts; undefined if it does not count. */
function countedVoter(
  progress: Progress,
  { by, at }: Extract<ReviewEvent, { type: 'approve' }>,
  inputs: ReviewInputs,
): Voter | undefined {
  const voter = findVoter(by, at, progress, inputs);
  if (voter === undefined || isBarred(voter, involvedIn({ authors: authorsIn(progress) }, inputs), inputs))
    return undefined;
  // An approver counts once, however they signed in. An approver and their deputy count once together.
  return progress.approvals.some((given) => sharesVote(voter, given.by, inputs)) ? undefined : voter;
}

const authorsIn = ({ authors }: Progress): readonly ReviewActor[] => [...authors.values()].flat();

/** The comment on the whole report first, then the sections' comments in the sections' order. */
function commentsInOrder({ comments }: Progress, inputs: ReviewInputs | undefined): readonly ReviewComment[] {
  const order = new Map(inputs?.sections.map(({ id }, index) => [id, index]) ?? []);
  const place = ({ section }: ReviewComment): number =>
    section === null ? -1 : (order.get(section) ?? Number.MAX_SAFE_INTEGER);
  return [...comments.values()].sort((a, b) => place(a) - place(b) || (commentKey(a) < commentKey(b) ? -1 : 1));
}

/**
 * SHA-256 (hex) of what people approve: the figures with everything frozen, and each comment with author, time and
 * version. The same for the same content on every machine.
 */
const contentHash = (figures: string, comments: readonly ReviewComment[]): string =>
  sha256(
    canonicalJson({
      figures,
      comments: comments.map(({ section, value, text, by: { person, name, principal }, at, version }) => ({
        section,
        ...(value === undefined ? {} : { value }),
        text,
        by: { person, name, principal },
        at,
        version,
      })),
    }),
  );

const hashContent = (progress: Progress, inputs: ReviewInputs | undefined): string | null =>
  progress.figures === null ? null : contentHash(progress.figures, commentsInOrder(progress, inputs));

const missingComments = (progress: Progress, inputs: ReviewInputs | undefined): readonly string[] =>
  progress.figures === null || inputs === undefined
    ? []
    : inputs.sections
        .filter(({ id, required, values }) => {
          if (!required || progress.comments.has(commentKey({ section: id }))) return false;
          // Whether a comment exists for all packs, or for each pack that needs one.
          return values?.every((value) => progress.comments.has(commentKey({ section: id, value }))) !== true;
        })
        .map(({ id }) => id);

/**
 * The phase of the review. The checks follow the order of a run: `send_if`, required comments, `on_incomplete`,
 * approval, delivery.
 */
function determinePhase(progress: Progress, inputs: ReviewInputs | undefined): ReviewPhase {
  const { figures, ended, approvals, released } = progress;
  if (ended !== null) return ended;
  if (figures === null || inputs === undefined) return 'figures';
  if (inputs.nothing_to_send) return 'ready';
  if (missingComments(progress, inputs).length > 0) return 'comments';
  // Approving incomplete figures also releases them. Releasing them approves nothing.
  if (inputs.incomplete && !released && approvals.length === 0) return 'incomplete';
  return approvals.length < (inputs.approval?.need ?? 0) ? 'approval' : 'ready';
}
