import type { Manifest, Sealed } from '../deliver/archive.ts';
import { type Dataset, incompleteNotes } from '../fetch/dataset.ts';
import type { Artifact } from '../render/artifact.ts';
import { renderFiles } from '../render/files.ts';
import { renderMail } from '../render/mail.ts';
import type { RunContext, RunPorts } from './ports.ts';
import type { RunOrder } from './record.ts';

/**
 * Makes the files and the mail's body in the private folder of this try and publishes them with their manifest in one
 * step. Until then a crash leaves nothing behind that anybody could take for a pack.
 */
export async function render(
  dataset: Dataset,
  folder: string,
  order: RunOrder,
  { definition, signal, observe }: RunContext,
  { archive, clock, templates }: RunPorts,
): Promise<Sealed> {
  const about = { run: order.id, digest: order.digest, madeAt: clock.now(), templates, signal };
  const artifacts = await renderFiles(dataset, definition.outputs, { ...about, folder });
  const mail = await renderMail(dataset, artifacts, { ...about, attached: attachedToAll(definition) });
  const manifest = manifestOf(dataset, order, artifacts, about.madeAt, definition);
  const sealed = await archive.seal(folder, manifest, artifacts, mail);
  for (const { name, bytes } of sealed.artifacts) observe({ type: 'rendered', name, bytes });
  return sealed;
}

/** One body is read by all recipients, so it may speak only of files that every one of them gets. */
function attachedToAll({ deliveries, outputs }: RunContext['definition']): readonly Artifact['format'][] {
  const mails = deliveries.flatMap(({ email }) => email ?? []);
  return outputs.map(({ format }) => format).filter((format) => mails.every(({ attach }) => attach.includes(format)));
}

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
  recipients: deliveries.flatMap(({ email, directory }) => [
    ...(email?.to ?? []),
    ...(directory === undefined ? [] : [directory.path]),
  ]),
  made_at: new Date(madeAt).toISOString(),
});
