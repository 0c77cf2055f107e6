import { devNull } from 'node:os';
import { DocketError, errorMessage } from '../../../base/error.ts';
import { renderPath } from '../../../base/files/safe-path.ts';
import type { SecretSource } from '../../../base/secrets/secret.ts';
import { sha256 } from '../../../base/sha256.ts';
import type { TemplateVariables } from '../../../base/text/template.ts';
import type { Artifact } from '../../../render/artifact.ts';
import type { LinkTimes, SharedLink } from '../../archive/storage/archive-storage.ts';
import type { AttemptResult, SendFn } from '../../attempt.ts';
import { type DestinationGuard, destinationGuard } from '../../destination-guard.ts';
import { type Fence, NotConfirmedError, noFence } from '../../internal/fence.ts';
import { connectS3 } from '../../internal/s3/s3-client.ts';
import { presignedLink } from '../../internal/s3/s3-presign.ts';
import { chosenFiles, fillOrUndefined, probeName, requireFiles, shownFormats } from '../file-target.ts';
import {
  type DeliveryContext,
  defineTarget,
  isTargetRefusal,
  newRow,
  type ProbeContext,
  probeError,
  type TargetProbe,
  templateVariables,
} from '../target.ts';
import { keyDiagnostics, type S3Spec, s3Schema } from './s3-schema.ts';
import { openS3, type S3Object, type S3Store } from './s3-store.ts';

const objectUrl = ({ bucket }: S3Spec, key: string): string => `s3://${bucket}/${key}`;

/** @param more files to put after the run's own files */
const buildObjects = (spec: S3Spec, { published }: DeliveryContext, more: readonly Artifact[] = []): S3Object[] =>
  toS3Objects(spec, templateVariables(published.manifest), [...chosenFiles(published.artifacts, spec), ...more]);

/** The file for `complete_marker`, put last. Data tools know its name from Hadoop's committers. */
const MARKER: Artifact = {
  name: '_SUCCESS',
  format: 'marker',
  mediaType: 'application/octet-stream',
  path: devNull,
  bytes: 0,
  sha256: sha256(''),
};

/** The objects to put, in order. */
const objectsToPut = (spec: S3Spec, context: DeliveryContext): S3Object[] =>
  buildObjects(spec, context, spec.complete_marker ? [MARKER] : []);

/** Puts the files into a bucket of an object store. */
export const s3Target = defineTarget({
  kind: 's3',
  label: 'S3 bucket',
  audience: { one: 'S3 bucket', many: 'S3 buckets' },
  attachField: 'files',
  schema: s3Schema,
  diagnostics: keyDiagnostics,
  describe: (spec) => ({
    addresses: [objectUrl(spec, spec.key)],
    writes: { template: spec.key, overwrite: spec.overwrite },
    shows: { formats: shownFormats(spec), parts: [] },
    destinations: [
      { path: ['bucket'], bucket: spec.bucket },
      ...(spec.endpoint === undefined ? [] : [{ path: ['endpoint'], host: new URL(spec.endpoint).hostname }]),
    ],
  }),
  list: (target, spec, context) => {
    const { published, settings, secrets, clock, destinations } = context;
    const { run, org, made_at } = published.manifest;
    const { endpoint, bucket, key } = spec;
    const open = guardedS3(spec, run, secrets, destinationGuard(settings, destinations));
    const keys = fillOrUndefined(() => buildObjects(spec, context).map((object) => object.key)) ?? [key];
    return [
      {
        row: newRow(published, target, objectUrl(spec, commonPrefix(keys)), JSON.stringify([endpoint, bucket, key])),
        // One service per organization: if one organization is refused, another may still be accepted.
        service: `bucket ${bucket}${endpoint === undefined ? '' : ` at ${endpoint}`} of ${org}`,
        messageId: null,
        // A PUT is idempotent, so an unreachable store counts as `unsent`.
        verify: async () =>
          (await hasAllObjects(objectsToPut(spec, context), open).catch(() => false)) ? 'sent' : 'unsent',
        linkable: true,
        fileLocations: () =>
          new Map(buildObjects(spec, context).map((object) => [object.artifact.name, objectUrl(spec, object.key)])),
        sharedLinks: () =>
          objectLinks(spec, buildObjects(spec, context), { now: clock.now(), madeAt: Date.parse(made_at) }, secrets),
      },
    ];
  },
  send: async (_, spec, context) => {
    const { published, settings, secrets, destinations } = context;
    const guard = destinationGuard(settings, destinations);
    guard.assertBucket(spec);
    requireFiles(published.artifacts, spec);
    return putObjects(spec, objectsToPut(spec, context), guardedS3(spec, published.manifest.run, secrets, guard));
  },
  probe: (spec, context) => probeS3(spec, context),
});

/** Opens a bucket that the organization may use, and refuses forbidden addresses. Throws `deliver.target_refused`. */
const guardedS3 =
  (spec: S3Spec, run: string, secrets: SecretSource, guard: DestinationGuard) => async (): Promise<S3Store> => {
    guard.assertBucket(spec);
    const host = spec.endpoint === undefined ? undefined : new URL(spec.endpoint).hostname;
    return openS3(spec, run, secrets, guard.findProxy, host === undefined ? undefined : guard.addressPolicy(host));
  };

/** Begins an upload and aborts it. */
function probeS3(spec: S3Spec, { variables, secrets, guard }: ProbeContext): TargetProbe {
  return {
    name: `S3 ${objectUrl(spec, spec.key)}${spec.endpoint === undefined ? '' : ` at ${spec.endpoint}`}`,
    probe: async () => {
      const key = renderPath(spec.key, { ...variables, file: { name: probeName() } }, KEY_FIELD);
      const store = await guardedS3(spec, 'doctor', secrets, guard)();
      try {
        await store.probe(key);
        return `${spec.bucket} lets us write`;
      } catch (error) {
        const next =
          'Correct the bucket, its region or the credentials; s3:PutObject and s3:AbortMultipartUpload are needed, and s3:PutObjectTagging unless "tags: false".';
        throw probeError(`The bucket ${spec.bucket}`, store.failure(error).detail, next);
      } finally {
        store.close();
      }
    },
  };
}

/** A single key itself. Of several keys, the longest folder that contains them all. */
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

const LINK_SOCKET_TIMEOUT_MS = 20_000;

/** A link to each object, by file name: under the bucket's `public_url`, or presigned. Empty if neither is possible. */
async function objectLinks(
  spec: S3Spec,
  objects: readonly S3Object[],
  times: LinkTimes,
  secrets: SecretSource,
): Promise<ReadonlyMap<string, SharedLink>> {
  if (spec.public_url !== undefined) {
    const base = spec.public_url.replace(/\/$/, '');
    const buildUrl = (key: string): string => `${base}/${key.split('/').map(encodeURIComponent).join('/')}`;
    return new Map(objects.map(({ key, artifact }) => [artifact.name, { url: buildUrl(key), until: null }]));
  }
  // Signing sends nothing. Without a connection nothing can be signed, and the e-mail names the location without a
  // link.
  const connection = await connectS3(spec, secrets, LINK_SOCKET_TIMEOUT_MS).catch(() => undefined);
  if (connection === undefined) return new Map();
  try {
    const links = new Map<string, SharedLink>();
    for (const { key, artifact } of objects) {
      const link = await presignedLink(connection, { bucket: spec.bucket, key }, times);
      if (link !== undefined) links.set(artifact.name, link);
    }
    return links;
  } finally {
    connection.close();
  }
}

const KEY_FIELD = 'deliveries[].s3.key';

/**
 * The key of each file. Throws `deliver.target_refused` for a key that cannot be used or that two files would share,
 * and `template.invalid`.
 */
export function toS3Objects(spec: S3Spec, variables: TemplateVariables, artifacts: readonly Artifact[]): S3Object[] {
  const used = new Map<string, string>();
  return artifacts.map((artifact) => {
    const key = renderPath(spec.key, { ...variables, file: { name: artifact.name } }, KEY_FIELD);
    const other = used.get(key);
    if (other !== undefined || key.startsWith('/')) {
      throw new DocketError('deliver.target_refused', `The key of ${artifact.name} cannot be used.`, {
        expected: 'a different key for each file, without a leading "/"',
        got: other === undefined ? `"${key}"` : `"${key}", which is ${other}'s`,
        next: `Put {{ file.name }} into ${KEY_FIELD} in the report definition.`,
      });
    }
    used.set(key, artifact.name);
    return { key, artifact };
  });
}

type PutResult =
  | { readonly state: 'sent'; readonly existed: boolean }
  | (AttemptResult & { readonly state: 'refused' | 'pending' });

/**
 * Puts the missing objects. An object is stored completely or not at all, and after a lost reply the store is checked
 * again. So the result is never `unknown`, and a repetition changes nothing.
 */
function putObjects(spec: S3Spec, objects: readonly S3Object[], open: () => Promise<S3Store>): SendFn {
  return async (signal, fence = noFence) => {
    let store: S3Store;
    try {
      store = await open();
    } catch (error) {
      if (isTargetRefusal(error)) return { state: 'refused', detail: errorMessage(error) };
      return { state: 'pending', detail: errorMessage(error), targetDown: true };
    }
    try {
      let existing = 0;
      for (const [index, object] of objects.entries()) {
        const put = await putObject(store, spec, object, signal, fence);
        if (put.state !== 'sent') {
          const done = index === 0 ? '' : ` (${index} of ${objects.length} files are there)`;
          return { ...put, detail: `${object.key}: ${put.detail}${done}` };
        }
        if (put.existed) existing += 1;
      }
      const files = `${objects.length} ${objects.length === 1 ? 'object' : 'objects'}`;
      return { state: 'sent', detail: existing === 0 ? files : `${files}, ${existing} there already` };
    } finally {
      store.close();
    }
  };
}

async function putObject(
  store: S3Store,
  spec: S3Spec,
  object: S3Object,
  signal: AbortSignal,
  fence: Fence,
): Promise<PutResult> {
  let current = await store.compare(object).catch((error: unknown) => store.failure(error));
  if (typeof current !== 'string') return failedPut(current);
  const conflict: PutResult = { state: 'refused', detail: CONFLICT_DETAIL };
  if (current === 'same') return { state: 'sent', existed: true };
  if (current === 'other' && !spec.overwrite) return conflict;
  for (let onlyNew = !spec.overwrite; ; onlyNew = false) {
    if (signal.aborted) return { state: 'pending', detail: 'Stopped before it was sent.' };
    try {
      await fence.confirmIfStale();
      await store.put(object, onlyNew, signal);
      return { state: 'sent', existed: false };
    } catch (error) {
      if (error instanceof NotConfirmedError) return { state: 'pending', detail: error.message };
      const failure = store.failure(error);
      if (failure.kind === 'unconditional' && onlyNew) {
        if (current === 'absent') continue;
        return { state: 'refused', detail: UNVERIFIABLE_DETAIL };
      }
      if (failure.kind === 'refused') return { state: 'refused', detail: failure.detail };
      // The reply was lost, or an earlier attempt has put the object: check the store.
      current = await store.compare(object).catch(() => 'hidden' as const);
      if (current === 'same') return { state: 'sent', existed: failure.kind === 'taken' };
      return failure.kind === 'taken' ? conflict : failedPut(failure);
    }
  }
}

const CONFLICT_DETAIL =
  'this key already has other content; remove it, make the key differ, or write "overwrite: true".';
const UNVERIFIABLE_DETAIL =
  'the store has no conditional writes and refused to show the object under this key; allow the credentials to read it, or write "overwrite: true".';

const failedPut = ({ kind, detail }: ReturnType<S3Store['failure']>): PutResult =>
  kind === 'refused'
    ? { state: 'refused', detail }
    : kind === 'down'
      ? { state: 'pending', detail, targetDown: true }
      : { state: 'pending', detail };

/** Whether every object has the bytes of its file. */
async function hasAllObjects(objects: readonly S3Object[], open: () => Promise<S3Store>): Promise<boolean> {
  const store = await open();
  try {
    for (const object of objects) if ((await store.compare(object)) !== 'same') return false;
    return true;
  } finally {
    store.close();
  }
}
