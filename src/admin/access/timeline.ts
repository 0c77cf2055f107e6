import type { LiveProgressStore } from '../../queue/runs/live-progress.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { Pauses } from '../../queue/schedules/pauses.ts';
import { type RunRecord, TERMINAL_STATES } from '../../run/run-record.ts';
import type { DecisionService, DeliveryRow } from '../../services/deliveries/decisions.ts';
import type { FindEarlierDelivery } from '../../services/runs/already-delivered.ts';
import type { RunHistory } from '../../services/runs/run-history.ts';
import { buildTimeline } from '../../services/runs/timeline/run-timeline.ts';
import { pauseOfRun, waitReason } from '../../services/runs/timeline/wait-reason.ts';
import type { Principal } from '../auth/tokens.ts';
import type { Access } from './access.ts';
import { getVisibleRun } from './runs.ts';

export interface TimelinePorts {
  readonly runs: RunIdLookup;
  readonly decisions: Pick<DecisionService, 'page'>;
  readonly pauses: Pick<Pauses, 'list'>;
  readonly live: Pick<LiveProgressStore, 'get'>;
  /** What the archive knows besides; see `loadRunHistory`. */
  readonly runHistory: (record: RunRecord, rows: readonly DeliveryRow[]) => Promise<RunHistory>;
  readonly earlierDelivery: FindEarlierDelivery;
  /** Number of worker processes. */
  readonly countWorkers: () => Promise<number>;
}

/** The steps of a run, and what it waits for. */
export async function loadTimeline(
  ports: Omit<TimelinePorts, 'runs'>,
  record: RunRecord,
): Promise<Awaited<ReturnType<Access['timeline']>>> {
  const isOpen = !TERMINAL_STATES.has(record.state);
  const [{ deliveries: rows }, snapshot, pauses, workers] = await Promise.all([
    ports.decisions.page({ orgs: [record.org], run: record.id, limit: 1 }),
    record.state === 'running' ? ports.live.get(record.id) : undefined,
    isOpen ? ports.pauses.list() : [],
    isOpen ? ports.countWorkers() : null,
  ]);
  const needsDecision = record.state === 'held' || rows.some(({ state }) => state === 'unknown');
  const [history, earlier] = await Promise.all([
    ports.runHistory(record, rows),
    needsDecision ? ports.earlierDelivery(record) : undefined,
  ]);
  const live = snapshot?.live ?? null;
  const waits = waitReason({ record, live, pause: pauseOfRun(pauses, record), workers });
  return {
    entries: buildTimeline({ record, live, rows, history, waits }),
    waits,
    earlier: earlier ?? null,
  };
}

/** The steps of the runs that the principal sees. */
export const timelineAccess = (ports: TimelinePorts, principal: Principal): Pick<Access, 'timeline'> => ({
  timeline: async (id) => loadTimeline(ports, await getVisibleRun(ports, principal, id)),
});
