import { DocketError } from '../../base/error.ts';
import { resolveRunPeriods } from '../../definitions/periods/period.ts';
import type { CorrectionEvent } from '../../deliver/archive/corrections/correction-event.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { type ProcessRegistry, redisProcessRegistry } from '../../queue/process-registry.ts';
import { runId } from '../../run/run-order.ts';
import type { RunOrder, RunRecord } from '../../run/run-record.ts';
import type { AuditActor, AuditEvent } from '../audit-log.ts';
import { settleRun } from '../deliveries/settle-run.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { assertApprovable } from '../runs/assert-approvable.ts';
import { type Correction, correctionSlot, DOCKET, foldCorrections, parseCorrectionId } from './correction.ts';
import { buildCorrectionView, type CorrectionView } from './correction-view.ts';
import { type Edition, frozenOfCorrection, frozenOfEdition, loadEdition, loadFigures } from './editions.ts';
import { type CorrectionRequest, openCorrection } from './open-correction.ts';

export type { CorrectionView };

/** Who sends a corrected edition. `subject`: who signed in; absent for the shell and Docket. */
export type Sender = AuditActor & { readonly subject?: string | undefined };

export type CorrectionService = ReturnType<typeof createCorrectionService>;

/**
 * Lists corrections and carries out decisions about them, which the audit log records. Ids may be prefixes:
 * `83b1c195-1`. Throws `redis.unreachable`, `archive.*`.
 *
 * @param hasOlder whether a process of version 0.2.0 is running
 */
export function createCorrectionService(
  deployment: Deployment,
  hasOlder: ProcessRegistry['hasOlder'] = () =>
    redisProcessRegistry(deployment.redis, { prefix: deployment.prefix, self: 'reader' }).hasOlder(),
) {
  const { corrections, runs, queue, definitions, audit, clock, log } = deployment;

  const ofRun = async (run: RunRef): Promise<readonly Correction[]> =>
    foldCorrections(run, await corrections.events(run));

  const list = async (orgs: readonly string[] | '*'): Promise<readonly Correction[]> => {
    const visible = (await corrections.list()).filter(
      ({ run, lastEvent }) => lastEvent > 0 && (orgs === '*' || orgs.includes(run.org)),
    );
    const found: Correction[] = [];
    for (const { run } of visible) found.push(...(await ofRun(run)));
    return found.sort((one, other) => other.foundAt - one.foundAt || (one.id < other.id ? -1 : 1));
  };

  const requireEdition = async (run: RunRef): Promise<Edition> => {
    const edition = await loadEdition(run, deployment);
    if (edition !== undefined) return edition;
    throw new DocketError('correction.not_found', `The edition of run ${run.id} is no longer in the archive.`, {
      where: `${run.org}/${run.report}`,
    });
  };

  /** Appends the decision. @returns the updated correction: the first of two decisions wins */
  const decide = async (
    { run, number, id }: Correction,
    make: (seq: number) => CorrectionEvent,
    isDecided: (now: Correction) => boolean,
  ): Promise<Correction> => {
    for (;;) {
      const events = await corrections.events(run);
      const now = foldCorrections(run, events).find((one) => one.number === number);
      if (now === undefined) throw notFound(id);
      if (isDecided(now)) return now;
      if (now.state !== 'open') throw conflict(now);
      await corrections.append(run, make((events.at(-1)?.seq ?? 0) + 1));
    }
  };

  /** Checked before the decision, which cannot be undone: a run without an approver would wait forever. */
  const assertSendable = async (
    { run, number }: Correction,
    { by, subject }: Omit<Sender, 'reason'>,
  ): Promise<void> => {
    const now = (await ofRun(run)).find((one) => one.number === number);
    if (by === DOCKET || now?.state !== 'open') return;
    const figures = await loadFigures(await requireEdition(run), corrections);
    assertApprovable(await frozenOfEdition(figures, deployment), { by, bySubject: subject });
  };

  const openRun = async (correction: Correction, { by, subject }: Omit<Sender, 'reason'>): Promise<RunRecord> => {
    const { run, byHand } = correction;
    const edition = await requireEdition(run);
    const { manifest } = edition;
    const frozen = byHand
      ? await frozenOfCorrection(run, byHand, deployment)
      : await frozenOfEdition(await loadFigures(edition, corrections), deployment);
    const { definition, settings } = frozen;
    const { period } = manifest;
    const sectionPeriods = byHand?.redefined
      ? resolveRunPeriods(definition, settings, Date.parse(manifest.made_at), { from: period.from, to: period.to })
          .sectionPeriods
      : manifest.section_periods;
    const slot = correctionSlot(correction);
    const order: RunOrder = Object.freeze({
      id: runId(run.org, run.report, slot),
      org: run.org,
      report: run.report,
      slot,
      trigger: 'on_demand',
      by,
      ...(subject === undefined ? {} : { bySubject: subject }),
      priority: by === DOCKET ? 'scheduled' : 'on_demand',
      period,
      ...(sectionPeriods === undefined ? {} : { sectionPeriods }),
      digest: definition.digest,
      deliver: true,
      createdAt: clock.now(),
      deadlineMs: definition.deadline * 1_000,
      corrects: run.id,
    });
    await definitions.put(frozen);
    const { opened, record } = await runs.open(order);
    // Not `if (opened)`: the process that opened it may have died before this line.
    if (record.state === 'queued') await queue.enqueue(record);
    if (opened)
      log.info('Run of a corrected edition opened', { run: record.id, org: run.org, report: run.report, slot });
    return record;
  };

  const record = async (
    event: AuditEvent,
    { id, run }: Correction,
    { by, from, reason }: AuditActor,
  ): Promise<void> => {
    const { id: of, org, report } = run;
    await audit.record({ event, who: by, from, run: of, org, report, why: `${id}: ${reason}` });
  };

  return {
    /** Lists corrections, newest first. @param orgs `*`: of all organizations */
    list,

    /** Undefined if there is none. Throws `correction.conflict` for an ambiguous prefix. */
    find: async (text: string, orgs: readonly string[] | '*'): Promise<CorrectionView | undefined> => {
      const wanted = parseCorrectionId(text);
      if (wanted === undefined) return undefined;
      const runsFound = (await corrections.list()).filter(
        ({ run, lastEvent }) =>
          lastEvent > 0 && run.id.startsWith(wanted.run) && (orgs === '*' || orgs.includes(run.org)),
      );
      const found = (await Promise.all(runsFound.map(({ run }) => ofRun(run)))).flatMap((all) =>
        all.filter(({ number }) => number === wanted.number),
      );
      const [correction, another] = found;
      if (correction === undefined) return undefined;
      if (another !== undefined) {
        throw new DocketError('correction.conflict', `Several corrections begin with ${JSON.stringify(text)}.`, {
          expected: 'more digits of the run',
          got: found.map(({ id }) => id).join(', '),
        });
      }
      return buildCorrectionView(correction, await requireEdition(correction.run), deployment);
    },

    /**
     * Sends a corrected edition by opening its run, once. The same decision may be repeated. Throws
     * `correction.conflict` if the correction was dismissed, withdrawn or replaced, and `approval.unreachable` if too
     * few people could approve what this person sends.
     */
    send: async (
      correction: Correction,
      { by, subject, from, reason }: Sender,
    ): Promise<{ readonly correction: Correction; readonly record: RunRecord }> => {
      await assertSendable(correction, { by, subject });
      const decided = await decide(
        correction,
        (seq) => ({
          seq,
          at: clock.now(),
          type: 'sent',
          correction: correction.number,
          by,
          ...(subject === undefined ? {} : { subject }),
          reason,
          run: runId(correction.run.org, correction.run.report, correctionSlot(correction)),
        }),
        ({ state }) => state === 'sent',
      );
      const opened = await openRun(decided, decided.decision ?? { by, subject });
      // Somebody may have sent it earlier or at the same time. That decision counts, and the log has it.
      const { decision } = decided;
      const isOurs = correction.state === 'open' && decision?.by === by && decision.reason === reason;
      if (by !== DOCKET && isOurs) await record('correction.sent', correction, { by, from, reason });
      return { correction: decided, record: opened };
    },

    /**
     * Sends a corrected edition of a delivered run, whatever the service reports: closes the deliveries that are not
     * made yet, and opens the edition's run. Replaces a correction that waits for a decision. Throws as
     * `openCorrection`.
     */
    open: async (
      run: RunRef,
      request: CorrectionRequest,
      { by, subject, from }: Omit<Sender, 'reason'>,
    ): Promise<{ readonly correction: CorrectionView; readonly record: RunRecord }> => {
      const { reason } = request;
      const { correction, opened } = await openCorrection(run, request, { by, subject }, deployment, hasOlder);
      const opening = await openRun(correction, correction.decision ?? { by, subject });
      if (opened) await record('correction.opened', correction, { by, from, reason });
      await settleRun(run.id, { by, reason }, deployment);
      return {
        correction: await buildCorrectionView(correction, await requireEdition(run), deployment),
        record: opening,
      };
    },

    /** Throws `correction.conflict` if it was decided otherwise. */
    dismiss: async (correction: Correction, actor: AuditActor): Promise<Correction> => {
      const { by, reason } = actor;
      const dismissed = await decide(
        correction,
        (seq) => ({ seq, at: clock.now(), type: 'dismissed', correction: correction.number, by, reason }),
        (now) => now.state === 'dismissed' && now.decision?.by === by && now.decision.reason === reason,
      );
      if (correction.state === 'open') await record('correction.dismissed', correction, actor);
      return dismissed;
    },

    /** Opens the run of a correction that is to be sent, if its record is missing. */
    reopen: (correction: Correction): Promise<RunRecord> => openRun(correction, correction.decision ?? { by: DOCKET }),
  };
}

const notFound = (id: string): DocketError =>
  new DocketError('correction.not_found', `There is no correction ${JSON.stringify(id.slice(0, 80))}.`, {
    expected: 'the id of a correction, or its first 8 digits with its number, e.g. 83b1c195-1',
    next: '`docket corrections` lists them.',
  });

/** Throws `correction.not_found` if the id names no visible correction. */
export async function requireCorrection(
  id: string,
  orgs: readonly string[] | '*',
  service: CorrectionService,
): Promise<CorrectionView> {
  const found = await service.find(id, orgs);
  if (found === undefined) throw notFound(id);
  return found;
}

const WHY: Readonly<Record<Exclude<Correction['state'], 'open'>, string>> = {
  dismissed: 'was dismissed',
  sent: 'was decided to be sent',
  withdrawn: 'is withdrawn: the service reports the delivered figures again',
  replaced: 'is replaced by a later one',
};

const conflict = ({ id, state, decision }: Correction): DocketError =>
  new DocketError('correction.conflict', `Correction ${id} ${state === 'open' ? 'is open' : WHY[state]}.`, {
    ...(decision === null ? {} : { got: `decided by ${decision.by}: ${decision.reason}` }),
    next: '`docket corrections` lists those that wait for a decision.',
  });
