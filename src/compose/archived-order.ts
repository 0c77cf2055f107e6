import type { Clock } from '../base/clock.ts';
import type { Archive } from '../deliver/archive.ts';
import type { DeliveryRow } from '../deliver/ledger.ts';
import type { DefinitionStore } from '../queue/definition-store.ts';
import type { RunOrder } from '../run/record.ts';

/**
 * The order of an archived run whose record was forgotten, as its manifest tells of it. Undefined where the archive does
 * not have the run, or the version of its definition is not kept any more: without it nothing can be delivered.
 */
export async function archivedOrder(
  { run, org, report }: Pick<DeliveryRow, 'run' | 'org' | 'report'>,
  {
    archive,
    definitions,
    clock,
  }: {
    readonly archive: Pick<Archive, 'peek'>;
    readonly definitions: Pick<DefinitionStore, 'get'>;
    readonly clock: Clock;
  },
): Promise<RunOrder | undefined> {
  const sealed = await archive.peek({ id: run, org, report });
  if (sealed === undefined) return undefined;
  const { slot, period, digest } = sealed.manifest;
  const frozen = await definitions.get(digest);
  if (frozen?.definition.org !== org || frozen.definition.report !== report) return undefined;
  // A person asks for it now, whoever opened the slot; a schedule would have given it up by now.
  return {
    id: run,
    org,
    report,
    slot,
    trigger: 'on_demand',
    priority: 'on_demand',
    period,
    digest,
    deliver: true,
    createdAt: clock.now(),
  };
}
