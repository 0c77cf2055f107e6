import type { Telemetry } from 'bullmq';

/** What BullMQ makes spans of its own by: of each job that is taken, put back and ended. */
export type QueueTelemetry = Telemetry;

/** BullMQ's own adapter to the OpenTelemetry that this process has registered; loaded only where somebody asks for it. */
export async function queueTelemetry(): Promise<QueueTelemetry> {
  const { BullMQOtel } = await import('bullmq-otel');
  return new BullMQOtel();
}
