import { fillPath } from '../base/path.ts';
import type { Definition } from '../define/definition.ts';
import { type S3Spec, type SftpSpec, sftpServer, type WebhookSpec, webhookName } from '../define/target.ts';
import { type Artifact, folderFiles } from '../render/artifact.ts';
import { assertSameFiles } from './archived-message.ts';
import { type Delivery, type PlaceContext, rowOf, variablesOf } from './delivery.ts';
import { destinationGuard } from './destination-guard.ts';
import { holdsAll, targetFolder, writeAll } from './directory-target.ts';
import { guardedS3, guardedSftp } from './guarded-targets.ts';
import { linksToObjects } from './s3-link.ts';
import { holdsObjects, objectsOf, putAll } from './s3-target.ts';
import { proveUpload, type SftpUpload, uploadAll } from './sftp-target.ts';
import { webhookBody } from './webhook-message.ts';
import { sendWebhook } from './webhook-target.ts';

type DirectoryTarget = NonNullable<Definition['deliveries'][number]['directory']>;

/** What a template makes; undefined when it makes nothing, which `prepare` then refuses with its reason. */
function filled<T>(fill: () => T): T | undefined {
  try {
    return fill();
  } catch {
    return undefined;
  }
}

/** Where the files are when each is one of a folder. */
const inFolder = (folder: string, artifacts: readonly Artifact[]): ReadonlyMap<string, string> =>
  new Map(artifacts.map(({ name }) => [name, `${folder.replace(/\/$/, '')}/${name}`]));

/** A folder of this machine. */
export function directoryDelivery(target: string, spec: DirectoryTarget, context: PlaceContext): Delivery {
  const { sealed, settings, workingDirectory, destinations } = context;
  const fill = (): string => fillPath(spec.path, variablesOf(sealed.manifest), 'deliveries[].directory.path');
  const folder = (): string => targetFolder(fill(), workingDirectory);
  const files = folderFiles(sealed.artifacts);
  return {
    row: rowOf(sealed, target, filled(fill) ?? spec.path, spec.path),
    service: target,
    messageId: null,
    prepare: async () => {
      const path = folder();
      await destinationGuard(settings, destinations).requireFolder(path, workingDirectory);
      return (signal, fence) => writeAll(path, files, signal, spec.overwrite, fence);
    },
    proof: async () => ((await holdsAll(folder(), files)) ? 'sent' : 'unknown'),
    links: () => inFolder(folder(), files),
  };
}

/** A bucket. */
export function s3Delivery(target: string, spec: S3Spec, context: PlaceContext): Delivery {
  const { sealed, settings, secrets, clock, destinations } = context;
  const guard = destinationGuard(settings, destinations);
  const open = guardedS3(spec, guard);
  // An organization that may not write here says nothing of those that may.
  const { run, org } = sealed.manifest;
  const objects = () => objectsOf(spec, variablesOf(sealed.manifest), folderFiles(sealed.artifacts));
  const place = (key: string): string => `s3://${spec.bucket}/${key}`;
  const names = filled(() => objects().map(({ key }) => key)) ?? [spec.key];
  return {
    row: rowOf(sealed, target, place(commonFolder(names)), JSON.stringify([spec.endpoint, spec.bucket, spec.key])),
    service: `bucket ${spec.bucket}${spec.endpoint === undefined ? '' : ` at ${spec.endpoint}`} of ${org}`,
    messageId: null,
    prepare: async () => {
      guard.requireS3(spec);
      return putAll(spec, run, objects(), secrets, open);
    },
    // Whatever became of it: putting it again changes nothing, so a store that cannot be asked now is asked then.
    proof: async () =>
      (await holdsObjects(spec, run, objects(), secrets, open).catch(() => false)) ? 'sent' : 'unsent',
    links: () => new Map(objects().map(({ key, artifact }) => [artifact.name, place(key)])),
    shared: () => {
      const times = { now: clock.now(), madeAt: Date.parse(sealed.manifest.made_at) };
      return linksToObjects(spec, objects(), times, secrets);
    },
  };
}

/** One key is itself; of several, the folder that all of them are in. */
function commonFolder(keys: readonly string[]): string {
  const [first = '', ...others] = keys;
  if (others.length === 0) return first;
  const steps = first.split('/').slice(0, -1);
  const shared = steps.findIndex((_, index) => {
    const folder = `${steps.slice(0, index + 1).join('/')}/`;
    return !others.every((key) => key.startsWith(folder));
  });
  return steps
    .slice(0, shared === -1 ? steps.length : shared)
    .map((step) => `${step}/`)
    .join('');
}

/** A folder of an SFTP server. */
export function sftpDelivery(target: string, spec: SftpSpec, context: PlaceContext): Delivery {
  const { sealed, settings, secrets, clock, destinations } = context;
  const guard = destinationGuard(settings, destinations);
  const open = guardedSftp(spec, guard);
  const fill = (): string => fillPath(spec.path, variablesOf(sealed.manifest), 'deliveries[].sftp.path');
  const server = sftpServer(spec);
  const place = (folder: string): string => `${server}/${folder.replace(/^\//, '')}`;
  const row = rowOf(sealed, target, place(filled(fill) ?? spec.path), `${server} ${spec.path}`);
  const artifacts = folderFiles(sealed.artifacts);
  const upload = (): SftpUpload => ({ spec, folder: fill(), artifacts, delivery: row.id, clock });
  return {
    row,
    service: `${server} of ${row.org}`,
    messageId: null,
    prepare: async () => {
      guard.requireHost(spec.host);
      return uploadAll(upload(), secrets, open);
    },
    proof: () => proveUpload(upload(), secrets, open),
    links: () => inFolder(place(fill()), artifacts),
  };
}

/** A POST that tells where the other deliveries have put the files. @param deliveries all of the report's */
export function webhookDelivery(
  target: string,
  spec: WebhookSpec,
  { sealed, archive, ledger, clock, secrets, settings, destinations }: PlaceContext,
  deliveries: () => readonly Delivery[],
): Delivery {
  const name = webhookName(spec);
  const row = rowOf(sealed, target, name);
  const options = { allowPrivate: settings.allow_private === true };
  const guard = destinationGuard(settings, destinations);
  return {
    row,
    service: `${name} of ${row.org}`,
    messageId: null,
    turn: 2,
    prepare: async (before) => {
      if (typeof spec.url === 'string') guard.requireHost(new URL(spec.url).hostname);
      const rows = new Map((await ledger.list(row.run)).map(({ id, state }) => [id, state]));
      const links = new Map<string, string[]>();
      for (const delivery of deliveries()) {
        if (rows.get(delivery.row.id) !== 'sent') continue;
        for (const [file, link] of delivery.links?.() ?? []) links.set(file, [...(links.get(file) ?? []), link]);
      }
      const body = webhookBody(sealed.manifest, folderFiles(sealed.artifacts), links);
      if (before > 0) await assertSameFiles(archive, sealed, row.id, body);
      const message = await archive.keepMessage(sealed, row.id, Buffer.from(body), 'json');
      return Object.assign(sendWebhook({ spec, id: row.id, body, clock, options, guard }, secrets), { message });
    },
    // The receiver takes a second request of this id for the first.
    ...(spec.idempotent ? { proof: async () => 'unsent' as const } : {}),
  };
}
