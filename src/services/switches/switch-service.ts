import { isSamePeriodDays } from '../../deliver/archive/archived-runs.ts';
import {
  findSwitch,
  type Switch,
  type SwitchTarget,
  waitsForRelease,
  withoutSwitch,
} from '../../deliver/switches/switches.ts';
import { newestFirst } from '../../queue/runs/run-index.ts';
import type { RunRecord, RunState } from '../../run/run-record.ts';
import type { AuditActor } from '../audit-log.ts';
import type { DecisionService } from '../deliveries/decisions.ts';
import type { Deployment } from '../deployment/deployment.ts';

export type { SwitchAuthor, Switches } from '../../deliver/switches/shared-switches.ts';
export {
  findSwitch,
  SWITCH_KINDS,
  type Switch,
  type SwitchKind,
  type SwitchState,
  type SwitchTarget,
  stopSentence,
  switchScope,
} from '../../deliver/switches/switches.ts';

/** A run whose deliveries wait for the release of a stop. */
export interface StoppedRun {
  readonly record: RunRecord;
  /** A newer run of the report and period, which replaces this one's deliveries. Null: there is none. */
  readonly replacedBy: { readonly run: string; readonly why: 'superseded' | 'corrected' } | null;
}

export interface ReleaseResult {
  /** Null if the switch was not on. */
  readonly released: Switch | null;
  /** Runs that continue now. */
  readonly continued: readonly RunRecord[];
  /** Runs that were not selected. They are cancelled, and can be retried. */
  readonly cancelled: readonly RunRecord[];
}

export interface ReleaseChoice {
  readonly also?: readonly string[] | undefined;
  readonly except?: readonly string[] | undefined;
}

/** Most waiting runs that one release handles. The next release finds the others. */
const MAX_WAITING = 5_000;
const MAX_NEWER = 500;
/** States in which a newer run has sent nothing, and will not. */
const ENDED_UNSENT: ReadonlySet<RunState> = new Set<RunState>(['cancelled', 'failed', 'skipped']);

const EVENTS = {
  set: { stop: 'deliveries.stopped', hold: 'hold.set' },
  released: { stop: 'deliveries.released', hold: 'hold.released' },
} as const;

/**
 * The delivery stop and the legal hold, for people's use. Throws `switch.unreadable`, `archive.*`, `redis.unreachable`.
 */
export function createSwitchService(
  { switches, runs, queue, audit }: Pick<Deployment, 'switches' | 'runs' | 'queue' | 'audit'>,
  decisions: Pick<DecisionService, 'cancel'>,
) {
  const record = (what: keyof typeof EVENTS, { kind, org }: SwitchTarget, { by, from, reason }: AuditActor) =>
    audit.record({ event: EVENTS[what][kind], who: by, from, org: org ?? undefined, why: reason });

  const waiting = async (orgs: readonly string[] | '*'): Promise<readonly StoppedRun[]> => {
    const found = (
      await Promise.all(
        (orgs === '*' ? [undefined] : orgs).map((org) => runs.list({ org, states: ['waiting'], limit: MAX_WAITING })),
      )
    )
      .flat()
      .filter(({ until, waitingFor }) => waitingFor?.until === until && waitsForRelease(waitingFor?.why));
    const newer = new Map<string, readonly RunRecord[]>();
    for (const { org, report, createdAt } of found.toReversed()) {
      const name = `${org}/${report}`;
      // A report's oldest run comes first, so that the listing contains everything newer.
      if (!newer.has(name)) newer.set(name, await runs.list({ org, report, since: createdAt, limit: MAX_NEWER }));
    }
    return found.map((each) => ({
      record: each,
      replacedBy: findReplacement(each, newer.get(`${each.org}/${each.report}`) ?? []),
    }));
  };

  return {
    known: switches.known,
    read: switches.read,
    /** The runs that wait for the release of a stop, newest first. */
    waiting,

    /** Turns a switch on until it is released. A switch that is already on stays as it is, with its first reason. */
    set: async (target: SwitchTarget, actor: AuditActor): Promise<Switch> => {
      const { by, reason } = actor;
      const active = await switches.set(target, { by, reason });
      await record('set', target, actor);
      return active;
    },

    /**
     * Turns a switch off. For a stop: first cancels the waiting runs that are not to be delivered, while nothing can be
     * sent, then lets the others continue. By default, it cancels runs that a newer run replaces.
     *
     * @param choice ids of runs to deliver although they are replaced, and of others not to deliver
     */
    release: async (
      target: SwitchTarget,
      actor: AuditActor,
      { also = [], except = [] }: ReleaseChoice = {},
    ): Promise<ReleaseResult> => {
      const { by, reason } = actor;
      const state = await switches.read();
      const after = withoutSwitch(state, target, actor, 0);
      if (after === state) return { released: null, continued: [], cancelled: [] };
      const goesOn = ({ record: { id }, replacedBy }: StoppedRun): boolean =>
        !except.includes(id) && (replacedBy === null || also.includes(id));
      // A run that another stop covers continues to wait.
      const affected = (target.kind === 'stop' ? await waiting(target.org === null ? '*' : [target.org]) : []).filter(
        (each) => findSwitch(after, 'stop', each.record.org) === undefined,
      );
      const cancelled: RunRecord[] = [];
      for (const each of affected.filter((run) => !goesOn(run))) {
        const why = `not selected when deliveries were released: ${reason}`;
        cancelled.push(await decisions.cancel(each.record.id, { ...actor, reason: why }));
      }
      const released = await switches.release(target, { by, reason });
      if (released !== undefined) await record('released', target, actor);
      const continued = affected.filter(goesOn).map((each) => each.record);
      for (const { id } of continued) await queue.promote(id);
      return { released: released ?? null, continued, cancelled };
    },
  };
}
export type SwitchService = ReturnType<typeof createSwitchService>;

function findReplacement(run: RunRecord, others: readonly RunRecord[]): StoppedRun['replacedBy'] {
  const newer = others.filter(
    (other) =>
      other.id !== run.id &&
      newestFirst(other, run) < 0 &&
      other.deliver &&
      !ENDED_UNSENT.has(other.state) &&
      isSamePeriodDays(other.period, run.period),
  );
  const corrects = newer.find(
    (other) => other.corrects === run.id || (other.corrects && other.corrects === run.corrects),
  );
  if (corrects !== undefined) return { run: corrects.id, why: 'corrected' };
  return newer[0] === undefined ? null : { run: newer[0].id, why: 'superseded' };
}
