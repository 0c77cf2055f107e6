import { setImmediate } from 'node:timers/promises';
import { addressesOf } from '../define/target.ts';
import type { Manifest, Sealed } from '../deliver/archive.ts';
import { type Dataset, incompleteNotes } from '../fetch/dataset.ts';
import type { Artifact } from '../render/artifact.ts';
import type { MailOptions } from '../render/mail-data.ts';
import type { RenderRequest } from '../render/renderer.ts';
import type { WorkbookLook } from '../render/xlsx/workbook.ts';
import { decide } from './conditions.ts';
import type { RunContext, RunPorts } from './ports.ts';
import type { RunOrder } from './record.ts';
import { timed } from './timed.ts';

/**
 * Makes the files and the mail's body in the private folder of this try and publishes them with their manifest in one
 * step. Until then a crash leaves nothing behind that anybody could take for a pack.
 */
export async function render(
  dataset: Dataset,
  folder: string,
  order: RunOrder,
  look: WorkbookLook,
  { definition, settings, signal, observe }: RunContext,
  { archive, clock, trace, templates, render: renderer, sentFigures }: RunPorts,
): Promise<Sealed> {
  const madeAt = clock.now();
  const { outputs, deliveries } = definition;
  const watched = { observe, clock, trace };
  const request: RenderRequest = {
    dataset,
    outputs,
    files: {
      ...look,
      folder,
      digest: order.digest,
      zipped: deliveries.some(({ email }) => email?.attach.includes('csv')),
    },
    mail: { templates, attached: attachedToAll(definition), ...occasionOf(order, definition, settings) },
    run: order.id,
    madeAt,
    // The digest freezes both files, so that a retry writes in the same language.
    locale: definition.locale ?? settings.locale,
  };
  const { artifacts, mail } = await timed('render', watched, () => renderer(request, signal));
  const sealed = await timed('seal', watched, async () => {
    const turn = () => setImmediate(undefined, { signal });
    const decided = await decide(dataset, definition, sentFigures, turn);
    const manifest = { ...manifestOf(dataset, order, artifacts, madeAt, definition), ...decided };
    return archive.seal(folder, manifest, artifacts, mail);
  });
  for (const { name, bytes } of sealed.artifacts) observe({ type: 'rendered', name, bytes });
  return sealed;
}

/** One body is read by all recipients, so it may speak only of files that every one of them gets. */
function attachedToAll({ deliveries, outputs }: RunContext['definition']): readonly Artifact['format'][] {
  const mails = deliveries.flatMap(({ email }) => email ?? []);
  if (mails.length === 0) return [];
  return outputs.map(({ format }) => format).filter((format) => mails.every(({ attach }) => attach.includes(format)));
}

/** When the report is made by itself, and whether this one was asked for. */
const occasionOf = (
  { trigger }: RunOrder,
  { schedule }: RunContext['definition'],
  { timezone }: RunContext['settings'],
): Pick<MailOptions, 'schedules' | 'onDemand'> => ({
  schedules: schedule.map(({ cron, timezone: zone = timezone, on, shift }) => ({ cron, timezone: zone, on, shift })),
  onDemand: trigger !== 'schedule',
});

const manifestOf = (
  dataset: Dataset,
  order: RunOrder,
  artifacts: readonly Artifact[],
  madeAt: number,
  { deliveries }: RunContext['definition'],
): Manifest => ({
  version: 1,
  run: order.id,
  org: order.org,
  organization: dataset.organization,
  report: order.report,
  title: dataset.title,
  owner: dataset.owner,
  slot: order.slot,
  digest: order.digest,
  period: order.period,
  registry_version: dataset.registryVersion,
  calls: dataset.calls,
  incomplete: incompleteNotes(dataset),
  files: artifacts.map(({ name, format, bytes, sha256 }) => ({ name, format, bytes, sha256 })),
  recipients: deliveries.flatMap(addressesOf),
  made_at: new Date(madeAt).toISOString(),
});
