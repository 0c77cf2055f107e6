import { DocketError } from '../../base/error.ts';
import { recipientRefusal } from '../../definitions/allow-lists/recipients.ts';
import { kindOfTarget } from '../../definitions/schema/kinds.ts';
import type { CorrectionEvent } from '../../deliver/archive/corrections/correction-event.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import { runId } from '../../run/run-order.ts';
import type { RunOrder, RunRecord } from '../../run/run-record.ts';
import type { AuditActor, AuditEvent } from '../audit-log.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { assertApprovable } from '../runs/assert-approvable.ts';
import { type Correction, DOCKET, foldCorrections, parseCorrectionId } from './correction.ts';
import { type Edition, frozenOfEdition, loadEdition, loadFigures } from './editions.ts';

/** A correction with what a decision needs. */
export interface CorrectionView extends Correction {
  /** Title and period of the edition, and when it was delivered (epoch ms). */
  readonly title: string;
  readonly period: { readonly from: string; readonly to: string; readonly timezone: string; readonly label: string };
  readonly deliveredAt: number | null;
  /** Those who received the edition: who gets the corrected one, and why the others do not. */
  readonly recipients: readonly {
    readonly target: string;
    readonly recipient: string;
    readonly receives: boolean;
    readonly why: string | null;
  }[];
  /** Metrics of the changes: the title of the section, and the unit (`count`, `ratio`, `seconds`). */
  readonly sections: readonly {
    readonly id: string;
    readonly title: string;
    readonly units: Readonly<Record<string, string | null>>;
  }[];
}

/** Who sends a corrected edition. `subject`: of the sign-in; absent for the shell and Docket. */
export type Sender = AuditActor & { readonly subject?: string | undefined };

const correctionSlot = ({ run, number }: Pick<Correction, 'run' | 'number'>): string =>
  `correction:${run.id}:${number}`;

export type CorrectionService = ReturnType<typeof createCorrectionService>;

/**
 * Corrections, and decisions about them, which the audit log records. Ids may be prefixes: `83b1c195-1`. Throws
 * `redis.unreachable`, `archive.*`.
 */
export function createCorrectionService(deployment: Deployment) {
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

  /** Appends the decision. @returns the correction as it is then: of two decisions the first stands */
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

  /** Before the decision, which cannot be taken back: a run without an approver would wait forever. */
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
    const { run } = correction;
    const edition = await requireEdition(run);
    const figures = await loadFigures(edition, corrections);
    const frozen = await frozenOfEdition(figures, deployment);
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
      period: edition.manifest.period,
      ...(edition.manifest.section_periods === undefined ? {} : { sectionPeriods: edition.manifest.section_periods }),
      digest: figures.digest,
      deliver: true,
      createdAt: clock.now(),
      deadlineMs: frozen.definition.deadline * 1_000,
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
    /** Newest first. @param orgs `*`: of all organizations */
    list,

    /** Undefined without one. Throws `correction.conflict` for an ambiguous prefix. */
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
      return viewOf(correction, await requireEdition(correction.run), deployment);
    },

    /**
     * Sends a corrected edition: opens its run, once. The same decision may be repeated. Throws `correction.conflict` where it
     * was dismissed, withdrawn or replaced, and `approval.unreachable` where too few people could approve what this person sends.
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
      // Somebody may have sent it before, or at the same time: that decision stands, and is in the log.
      const { decision } = decided;
      const isOurs = correction.state === 'open' && decision?.by === by && decision.reason === reason;
      if (by !== DOCKET && isOurs) await record('correction.sent', correction, { by, from, reason });
      return { correction: decided, record: opened };
    },

    /** Throws `correction.conflict` where it was decided otherwise. */
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

    /** Opens the run of a correction that was decided to be sent, where its record is missing. */
    reopen: (correction: Correction): Promise<RunRecord> => openRun(correction, correction.decision ?? { by: DOCKET }),
  };
}

/** Whether the recipients of the target are mailboxes, which the allow-list names. */
const hasMailboxes = (target: string): boolean =>
  TARGETS.some(({ kind, audience }) => kind === kindOfTarget(target) && audience?.people === true);

async function viewOf(
  correction: Correction,
  edition: Edition,
  { corrections, orgs }: Deployment,
): Promise<CorrectionView> {
  const { manifest, recipients, deliveredAt, run } = edition;
  const allowed = orgs().get(run.org)?.recipients;
  const { sections } = await loadFigures(edition, corrections);
  const changed = new Set(correction.changes.map(({ section }) => section));
  return {
    ...correction,
    title: manifest.title,
    period: manifest.period,
    deliveredAt,
    recipients: recipients.map(({ target, recipient }) => {
      const refusal = hasMailboxes(target) && allowed !== undefined ? recipientRefusal(recipient, allowed) : undefined;
      return {
        target,
        recipient,
        receives: refusal === undefined,
        why: refusal === undefined ? null : `It ${refusal}.`,
      };
    }),
    sections: sections
      .filter(({ id }) => changed.has(id))
      .map(({ id, title, metrics }) => ({
        id,
        title,
        units: Object.fromEntries(metrics.map(({ name, unit }) => [name, unit])),
      })),
  };
}

const notFound = (id: string): DocketError =>
  new DocketError('correction.not_found', `There is no correction ${JSON.stringify(id.slice(0, 80))}.`, {
    expected: 'the id of a correction, or its first 8 digits with its number, e.g. 83b1c195-1',
    next: '`docket corrections` lists them.',
  });

/** Throws `correction.not_found` for an id that names no visible correction. */
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
  replaced: 'is replaced by a later one: the service has changed the figures again',
};

const conflict = ({ id, state, decision }: Correction): DocketError =>
  new DocketError('correction.conflict', `Correction ${id} ${state === 'open' ? 'is open' : WHY[state]}.`, {
    ...(decision === null ? {} : { got: `decided by ${decision.by}: ${decision.reason}` }),
    next: '`docket corrections` lists those that wait for a decision.',
  });
