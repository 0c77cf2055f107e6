import { DocketError } from '../../base/error.ts';
import { isSamePeriodDays } from '../../deliver/archive/archived-runs.ts';
import type { OpenedEvent } from '../../deliver/archive/corrections/correction-event.ts';
import type { Manifest } from '../../deliver/archive/manifest.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { runId } from '../../run/run-order.ts';
import type { AuditActor } from '../audit-log.ts';
import type { CurrentReport } from '../definitions/current-report.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { normalizeComment } from '../reviews/comments.ts';
import { assertApprovable } from '../runs/assert-approvable.ts';
import { closeEdition } from './close-edition.ts';
import { type Correction, correctionSlot, ENDED_STATES, foldCorrections } from './correction.ts';
import { type Edition, findFigures, frozenOfEdition, loadEdition } from './editions.ts';

/** What a person corrects. The figures are always requested again. */
export interface CorrectionRequest {
  /** Printed in the edition. */
  readonly reason: string;
  /** A comment on the whole report, printed in the edition. */
  readonly comment?: string | undefined;
  /** Used instead of the delivered edition's definition. */
  readonly definition?: FrozenDefinition | undefined;
}

/** Which definition a corrected edition can use. */
export const DEFINITION_CHOICES = ['delivered', 'current'] as const;
export type DefinitionChoice = (typeof DEFINITION_CHOICES)[number];

/** Throws `definition.invalid` if the report has no valid version. */
export function requireCurrent({ version, faults }: CurrentReport): FrozenDefinition {
  if (version !== undefined) return version;
  throw new DocketError('definition.invalid', 'The report has no valid definition now.', {
    ...(faults[0] === undefined ? {} : { got: faults[0] }),
    next: 'Correct it, or use the definition as it was delivered.',
  });
}

type Opener = AuditActor & { readonly subject?: string | undefined };

/**
 * Opens a correction of a delivered run: records it, then closes the run's open deliveries. The same request may be
 * repeated. Throws `run.conflict`, `correction.conflict`, `correction.not_found`, `definition.*`,
 * `review.comment_invalid`, `approval.unreachable`.
 *
 * @param hasOlder whether a process of version 0.2.0 is running, which would still send the closed deliveries
 */
export async function openCorrection(
  run: RunRef,
  { reason, definition, comment: typed }: CorrectionRequest,
  { by, subject }: Omit<Opener, 'reason'>,
  deployment: Deployment,
  hasOlder: () => Promise<boolean>,
): Promise<{ readonly correction: Correction; readonly opened: boolean }> {
  const { corrections, ledger, clock, log } = deployment;
  const comment = typed === undefined ? undefined : normalizeComment(typed);
  const edition = await requireDelivered(run, deployment);
  if (await hasOlder()) {
    throw new DocketError('run.conflict', 'A running process of an older version could send what is withdrawn.', {
      expected: 'only processes of this version',
      next: 'Stop the older processes or upgrade them, wait two minutes, then repeat this.',
    });
  }
  for (;;) {
    const events = await corrections.events(run);
    const last = foldCorrections(run, events).at(-1);
    if (last?.byHand !== undefined && isSameRequest(last, { reason, comment, definition }, by) && !last.ended) {
      // A repeated request: complete what was interrupted.
      await closeEdition(run, { by, reason, at: last.foundAt }, deployment);
      return { correction: last, opened: false };
    }
    await assertNoOther(edition, last, deployment);
    const frozen = definition ?? (await loadDefinition(edition, deployment));
    await assertSameSplit(edition, frozen, deployment);
    assertStillApproved(edition, frozen);
    assertApprovable(frozen, { by, bySubject: subject });
    const number = (last?.number ?? 0) + 1;
    const at = clock.now();
    const seq = (events.at(-1)?.seq ?? 0) + 1;
    if (last?.state === 'sent' && !last.ended) {
      // Nobody received that edition. Withdraw it, so that no retry sends it in addition to this one.
      if (last.decision?.run != null) await ledger.withdraw(last.decision.run, { by, reason, at });
      await corrections.append(run, { seq, at, type: 'ended', correction: last.number });
      continue;
    }
    const opened: OpenedEvent = {
      ...{ seq, at, correction: number, by, reason },
      type: 'opened',
      run: runId(run.org, run.report, correctionSlot({ run, number })),
      ...(subject === undefined ? {} : { subject }),
      definition: await storeDefinition(run, frozen, deployment),
      ...(definition !== undefined && { redefined: true as const }),
      ...(comment === undefined ? {} : { comment }),
    };
    if (!(await corrections.append(run, opened))) continue;
    const rows = await closeEdition(run, opened, deployment);
    const count = rows.filter(({ state }) => state === 'withdrawn').length;
    const { org, report } = run;
    log.info('Correction opened', {
      run: run.id,
      org,
      report,
      event: 'correction.opened',
      count,
      who: by,
      why: reason,
    });
    const correction = foldCorrections(run, [...events, opened]).at(-1);
    if (correction === undefined) throw new Error('The correction was not opened.');
    return { correction, opened: true };
  }
}

const isSameRequest = (
  { decision, byHand }: Correction,
  { reason, comment, definition }: CorrectionRequest,
  by: string,
): boolean =>
  decision?.reason === reason &&
  decision.by === by &&
  byHand?.comment === comment &&
  // Compares the choice of definition, not its content: it may have been edited in between.
  (byHand?.redefined === true) === (definition !== undefined);

async function requireDelivered(run: RunRef, deployment: Deployment): Promise<Edition> {
  const edition = await loadEdition(run, deployment);
  if (edition === undefined || edition.deliveredAt === null) {
    throw new DocketError('correction.conflict', `Nobody has received run ${run.id}: there is nothing to correct.`, {
      expected: 'a run that was delivered to somebody',
      got: edition === undefined ? 'no files in the archive' : 'no delivery that arrived, or may have',
      next: `\`docket runs cancel ${run.id} --reason …\` stops it. Then trigger the report again.`,
    });
  }
  return edition;
}

/** Throws `correction.conflict` if a definition lacks packs of the edition, or has others. */
async function assertSameSplit(
  { run, manifest: { packs, digest } }: Edition,
  { definition: { split } }: FrozenDefinition,
  { definitions }: Deployment,
): Promise<void> {
  const before = (await definitions.get(digest))?.definition.split?.by ?? split?.by;
  if (packs === undefined ? split === undefined : split !== undefined && split.by === before) return;
  throw new DocketError('correction.conflict', `The report of run ${run.id} is split differently now.`, {
    expected: packs === undefined ? 'a definition without `split`' : `a definition with \`split\` by ${before}`,
    next: 'Use the definition as it was delivered, or trigger the report again for the period with --again.',
  });
}

/** Throws `correction.conflict` if a definition lacks the approval that the edition needed. */
function assertStillApproved({ run, manifest: { review } }: Edition, { definition }: FrozenDefinition): void {
  if (review === undefined || review.need === 0 || definition.approval !== undefined) return;
  throw new DocketError('correction.conflict', `Run ${run.id} was approved, and its report needs no approval now.`, {
    expected: 'a definition with `approval`: a corrected edition is approved again',
    next: 'Use the definition as it was delivered, or put `approval` back.',
  });
}

/** The definition and settings with which the edition was made. */
async function loadDefinition(edition: Edition, deployment: Deployment): Promise<FrozenDefinition> {
  const { run, manifest } = edition;
  const figures = await findFigures(edition, deployment.corrections);
  if (figures !== undefined) return frozenOfEdition(figures, deployment);
  const known = await deployment.definitions.get(manifest.digest);
  if (known?.definition.org === run.org && known.definition.report === run.report) return known;
  throw new DocketError('definition.not_found', `The definition of run ${run.id} is no longer kept.`, {
    next: 'Use the current one: `--definition current`, `"definition": "current"` in the API.',
  });
}

/** Stores the definition in the archive, so that the edition uses it even if Redis is lost. @returns its SHA-256 */
function storeDefinition(
  run: RunRef,
  { definition, settings: { logo: _, smtp: __, ...settings } }: FrozenDefinition,
  { corrections }: Deployment,
): Promise<string> {
  const { org, report, digest } = definition;
  return corrections.putFile(
    run,
    Buffer.from(JSON.stringify({ run: run.id, org, report, digest, definition, settings })),
  );
}

/**
 * Checks that this is the only correction of the report and period, and that it corrects the edition delivered last.
 */
async function assertNoOther(
  { run, manifest }: Edition,
  last: Correction | undefined,
  deployment: Deployment,
): Promise<void> {
  const { corrections, archive } = deployment;
  if (last !== undefined) await assertReplaceable(last, deployment);
  for (const { run: other, lastEvent } of await corrections.list()) {
    if (lastEvent === 0 || other.id === run.id || other.org !== run.org || other.report !== run.report) continue;
    const newest = foldCorrections(other, await corrections.events(other)).at(-1);
    if (newest?.state !== 'sent' || newest.ended || newest.decision?.run === run.id) continue;
    const published: { readonly manifest: Manifest } | undefined = await archive.peek(other);
    if (published === undefined || !isSamePeriodDays(published.manifest.period, manifest.period)) continue;
    if (await loadReplacement(newest, deployment)) continue;
    await assertReplaceable(newest, deployment);
  }
}

const loadReplacement = async ({ run, decision }: Correction, deployment: Deployment): Promise<boolean> => {
  const corrected = decision?.run == null ? undefined : await loadEdition({ ...run, id: decision.run }, deployment);
  return corrected !== undefined && corrected.deliveredAt !== null;
};

/** Throws `correction.conflict` if a correction's run has delivered, or still will. */
async function assertReplaceable(correction: Correction, deployment: Deployment): Promise<void> {
  const { state, ended, decision } = correction;
  if (state !== 'sent' || ended || decision?.run == null) return;
  const { run } = decision;
  if (await loadReplacement(correction, deployment)) {
    throw new DocketError('correction.conflict', `Run ${correction.run.id} is replaced by run ${run}.`, {
      next: `Correct the newer run: \`docket corrections open ${run} --reason …\`.`,
    });
  }
  const record = await deployment.runs.get(run);
  if (record !== undefined && ENDED_STATES.has(record.state)) return;
  throw new DocketError('correction.conflict', `Run ${correction.run.id} is being corrected by run ${run}.`, {
    got: `decided by ${decision.by}: ${decision.reason}`,
    next: `Wait for it, or cancel it first: \`docket runs cancel ${run} --reason …\`.`,
  });
}
