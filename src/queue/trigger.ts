import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Trace } from '../base/trace.ts';
import type { Definition, PeriodSpec } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import { recipientFault } from '../define/recipients.ts';
import { orderRun } from '../run/order.ts';
import type { RunOrder, RunRecord, RunStore } from '../run/record.ts';
import { type FindDelivered, refuseRepeat } from './already-delivered.ts';
import type { DefinitionStore } from './definition-store.ts';
import type { RunQueue } from './jobs.ts';

/** Which run is asked for. */
export interface TriggerRequest {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** A scheduled instant (epoch ms), or the id of a trigger: the same id with the same request is the same run. */
  readonly slot: { readonly scheduled: number } | { readonly trigger: string };
  readonly trigger: RunOrder['trigger'];
  readonly priority: RunOrder['priority'];
  /** Replaces the definition's own. */
  readonly period?: PeriodSpec;
  readonly deliver: boolean;
  /** Delivers once more what was delivered for its period already. */
  readonly again?: boolean;
  /** Ms for which its run waits in line before anybody takes it: a schedule's jitter. */
  readonly delayMs?: number;
  /** Who asks: the name of a token or of a shell's user. */
  readonly by?: string;
}

/** Where a run is opened: its record, its definition, its place in line. */
export interface TriggerPorts {
  readonly runs: RunStore;
  readonly definitions: DefinitionStore;
  readonly queue: RunQueue;
  /** What was delivered already; absent: nobody is refused for it. */
  readonly findDelivered?: FindDelivered | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** The span in which it is called is the one in which the run stands, in whatever process; absent: in none. */
  readonly trace?: Trace | undefined;
}

/** The run of the slot, whoever opened it. */
export interface Triggered {
  /** False: the slot had been opened before; the record is that run's. */
  readonly opened: boolean;
  readonly record: RunRecord;
}

/** `trigger` with its ports bound: what the admin route and the schedules call. */
export type Trigger = (request: TriggerRequest) => Promise<Triggered>;

/**
 * Opens the slot once and puts its run in line. Whoever comes second gets the first one's record.
 *
 * The definition is frozen before the record names it, and the record stands before the job is added: after a crash
 * between any two steps either nothing happened, or a `queued` record waits for the reconciler.
 *
 * Throws `deliver.recipient_refused` when somebody asks for a run that would be sent to a recipient whom the organization
 * does not allow: nothing is opened then. Nobody would hear that of a scheduled slot, which would be tried for ever: its run
 * is opened, reaches the others, and its owner is told of the one who was refused. Throws `already_delivered` for a period that
 * was delivered before, unless the request insists (`again`) or is the one that opened its run: a scheduled slot runs once anyway.
 * Throws `run.conflict` when this trigger's id was used with another request, `redis.unreachable` when nothing could be written.
 */
export async function trigger(request: TriggerRequest, ports: TriggerPorts): Promise<Triggered> {
  const { definition, settings } = request;
  if (request.deliver && request.trigger !== 'schedule') refuseStrangers(definition, settings);
  const now = ports.clock.now();
  const scheduled = 'scheduled' in request.slot;
  const traceparent = ports.trace?.parent();
  const order: RunOrder = {
    ...orderRun({
      definition,
      settings,
      trigger: request.trigger,
      priority: request.priority,
      slot:
        'scheduled' in request.slot
          ? new Date(request.slot.scheduled).toISOString()
          : `trigger:${request.slot.trigger}`,
      at: 'scheduled' in request.slot ? request.slot.scheduled : now,
      ...(request.period === undefined ? {} : { period: request.period }),
      deliver: request.deliver,
      ...(request.by === undefined ? {} : { by: request.by }),
      now,
    }),
    ...(scheduled ? {} : { asked: fingerprint(request) }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  // Whoever repeats a request finds its own run, also when that has delivered since.
  if (!scheduled && (await ports.runs.get(order.id)) === undefined) {
    await refuseRepeat(order, definition, { again: request.again ?? false, find: ports.findDelivered, now });
  }
  await ports.definitions.put({ definition, settings });
  const { opened, record } = await ports.runs.open(order);
  if (!scheduled && !(record.asked === order.asked && record.priority === order.priority)) {
    throw new DocketError('run.conflict', 'This trigger was used before, with another request.', {
      where: `run ${record.id}`,
      expected: 'the same period, deliver, priority and again as the first time',
      next: 'Use a new Idempotency-Key for a new request.',
    });
  }
  // Not `if (opened)`: the one who opened it may have died before this line.
  if (record.state === 'queued') await ports.queue.add(record, request.delayMs);
  if (opened) {
    ports.log.info('Run opened', { run: record.id, org: record.org, report: record.report, slot: record.slot });
  }
  return { opened, record };
}

/** `docket check` refuses such a report, and so does each delivery; here it costs no call yet. */
function refuseStrangers({ deliveries }: Definition, { recipients }: OrgSettings): void {
  for (const recipient of deliveries.flatMap(({ email }) => email?.to ?? [])) {
    const fault = recipientFault(recipient, recipients);
    if (fault === undefined) continue;
    throw new DocketError('deliver.recipient_refused', `${JSON.stringify(recipient)} ${fault}.`, {
      next: 'Correct the recipient, or allow it in org.yaml.',
    });
  }
}

/** What was asked, not what came of it: `previous_week` is the same request on Monday as on Sunday. */
const fingerprint = ({ period, deliver, again = false }: TriggerRequest): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        typeof period === 'object' ? [period.from, period.to] : (period ?? null),
        deliver,
        // Not where it is false: a request of an older version is the same then.
        ...(again ? [{ again }] : []),
      ]),
    )
    .digest('hex')
    .slice(0, 32);
