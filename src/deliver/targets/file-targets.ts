import { renderPath } from '../../base/files/safe-path.ts';
import {
  type S3Spec,
  type SftpSpec,
  sftpServerUrl,
  type WebhookSpec,
  webhookDisplayName,
} from '../../definitions/schema/deliveries.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { type Artifact, individualFiles } from '../../render/artifact.ts';
import { type DestinationGuard, destinationGuard } from '../destination-guard.ts';
import { assertSameFiles } from '../resend-check.ts';
import { objectLinks } from '../s3/s3-presign.ts';
import { hasAllFiles, targetFolder, writeFiles } from './directory/directory-target.ts';
import { openS3 } from './s3/s3-store.ts';
import { hasAllObjects, type OpenS3, putObjects, toS3Objects } from './s3/s3-target.ts';
import { openSftp } from './sftp/sftp-session.ts';
import { type OpenSftp, type SftpUpload, uploadFiles, verifyUpload } from './sftp/sftp-target.ts';
import { type Delivery, newRow, type TargetContext, templateVariables } from './target.ts';
import { webhookBody } from './webhook/webhook-message.ts';
import { sendWebhook } from './webhook/webhook-target.ts';

type DirectoryTarget = NonNullable<Definition['deliveries'][number]['directory']>;

/** What a template makes; undefined when it makes nothing, which `prepare` then refuses with its reason. */
function fillOrUndefined<T>(fill: () => T): T | undefined {
  try {
    return fill();
  } catch {
    return undefined;
  }
}

/** Where the files are when each is one of a folder. */
const filePaths = (folder: string, artifacts: readonly Artifact[]): ReadonlyMap<string, string> =>
  new Map(artifacts.map(({ name }) => [name, `${folder.replace(/\/$/, '')}/${name}`]));

/** A folder of this machine. */
export function directoryDelivery(target: string, spec: DirectoryTarget, context: TargetContext): Delivery {
  const { published, settings, workingDirectory, destinations } = context;
  const fill = (): string =>
    renderPath(spec.path, templateVariables(published.manifest), 'deliveries[].directory.path');
  const folder = (): string => targetFolder(fill(), workingDirectory);
  const files = individualFiles(published.artifacts);
  return {
    row: newRow(published, target, fillOrUndefined(fill) ?? spec.path, spec.path),
    service: target,
    messageId: null,
    prepare: async () => {
      const path = folder();
      await destinationGuard(settings, destinations).assertFolder(path, workingDirectory);
      return (signal, fence) => writeFiles(path, files, signal, spec.overwrite, fence);
    },
    verify: async () => ((await hasAllFiles(folder(), files)) ? 'sent' : 'unknown'),
    fileLocations: () => filePaths(folder(), files),
  };
}

/** A bucket. */
export function s3Delivery(target: string, spec: S3Spec, context: TargetContext): Delivery {
  const { published, settings, secrets, clock, destinations } = context;
  const guard = destinationGuard(settings, destinations);
  const open = guardedS3(spec, guard);
  // An organization that may not write here says nothing of those that may.
  const { run, org } = published.manifest;
  const objects = () => toS3Objects(spec, templateVariables(published.manifest), individualFiles(published.artifacts));
  const place = (key: string): string => `s3://${spec.bucket}/${key}`;
  const names = fillOrUndefined(() => objects().map(({ key }) => key)) ?? [spec.key];
  return {
    row: newRow(published, target, place(commonPrefix(names)), JSON.stringify([spec.endpoint, spec.bucket, spec.key])),
    service: `bucket ${spec.bucket}${spec.endpoint === undefined ? '' : ` at ${spec.endpoint}`} of ${org}`,
    messageId: null,
    prepare: async () => {
      guard.assertBucket(spec);
      return putObjects(spec, run, objects(), secrets, open);
    },
    // Whatever became of it: putting it again changes nothing, so a store that cannot be asked now is asked then.
    verify: async () =>
      (await hasAllObjects(spec, run, objects(), secrets, open).catch(() => false)) ? 'sent' : 'unsent',
    fileLocations: () => new Map(objects().map(({ key, artifact }) => [artifact.name, place(key)])),
    sharedLinks: () => {
      const times = { now: clock.now(), madeAt: Date.parse(published.manifest.made_at) };
      return objectLinks(spec, objects(), times, secrets);
    },
  };
}

/** One key is itself; of several, the folder that all of them are in. */
function commonPrefix(keys: readonly string[]): string {
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
export function sftpDelivery(target: string, spec: SftpSpec, context: TargetContext): Delivery {
  const { published, settings, secrets, clock, destinations } = context;
  const guard = destinationGuard(settings, destinations);
  const open = guardedSftp(spec, guard);
  const fill = (): string => renderPath(spec.path, templateVariables(published.manifest), 'deliveries[].sftp.path');
  const server = sftpServerUrl(spec);
  const place = (folder: string): string => `${server}/${folder.replace(/^\//, '')}`;
  const row = newRow(published, target, place(fillOrUndefined(fill) ?? spec.path), `${server} ${spec.path}`);
  const artifacts = individualFiles(published.artifacts);
  const upload = (): SftpUpload => ({ spec, folder: fill(), artifacts, delivery: row.id, clock });
  return {
    row,
    service: `${server} of ${row.org}`,
    messageId: null,
    prepare: async () => {
      guard.assertHost(spec.host);
      return uploadFiles(upload(), secrets, open);
    },
    verify: () => verifyUpload(upload(), secrets, open),
    fileLocations: () => filePaths(place(fill()), artifacts),
  };
}

/** A POST that tells where the other deliveries have put the files. @param deliveries all of the report's */
export function webhookDelivery(
  target: string,
  spec: WebhookSpec,
  { published, archive, ledger, clock, secrets, settings, destinations }: TargetContext,
  deliveries: () => readonly Delivery[],
): Delivery {
  const name = webhookDisplayName(spec);
  const row = newRow(published, target, name);
  const options = { allowPrivate: settings.allow_private === true };
  const guard = destinationGuard(settings, destinations);
  return {
    row,
    service: `${name} of ${row.org}`,
    messageId: null,
    phase: 2,
    prepare: async (before) => {
      if (typeof spec.url === 'string') guard.assertHost(new URL(spec.url).hostname);
      const rows = new Map((await ledger.list(row.run)).map(({ id, state }) => [id, state]));
      const links = new Map<string, string[]>();
      for (const delivery of deliveries()) {
        if (rows.get(delivery.row.id) !== 'sent') continue;
        for (const [file, link] of delivery.fileLocations?.() ?? [])
          links.set(file, [...(links.get(file) ?? []), link]);
      }
      const body = webhookBody(published.manifest, individualFiles(published.artifacts), links);
      if (before > 0) await assertSameFiles(archive, published, row.id, body);
      const message = await archive.putMessage(published, row.id, Buffer.from(body), 'json');
      return Object.assign(sendWebhook({ spec, id: row.id, body, clock, options, guard }, secrets), { message });
    },
    // The receiver takes a second request of this id for the first.
    ...(spec.idempotent ? { verify: async () => 'unsent' as const } : {}),
  };
}

/** Opens a bucket that the organization may deliver to, at no address that is refused. Throws `deliver.target_refused`. */
export const guardedS3 =
  (spec: S3Spec, guard: DestinationGuard): OpenS3 =>
  async (...asked) => {
    guard.assertBucket(spec);
    const host = spec.endpoint === undefined ? undefined : new URL(spec.endpoint).hostname;
    return openS3(...asked, host === undefined ? undefined : guard.addressPolicy(host));
  };

/** Opens an SFTP server that the organization may deliver to, at no address that is refused. Throws `deliver.target_refused`. */
export const guardedSftp =
  (spec: SftpSpec, guard: DestinationGuard): OpenSftp =>
  async (...asked) => {
    guard.assertHost(spec.host);
    return openSftp(...asked, guard.addressPolicy(spec.host));
  };
