import { DocketError, wordsOf } from '../base/error.ts';
import { fillPath } from '../base/path.ts';
import type { SecretSource } from '../base/secret.ts';
import type { TemplateVariables } from '../base/template.ts';
import type { S3Spec } from '../define/target.ts';
import type { Artifact } from '../render/artifact.ts';
import type { Ending, Leave } from './attempt.ts';
import { type Fence, NotConfirmed, noFence } from './fence.ts';
import { isRefusal } from './refusal.ts';
import { openS3, type S3Object, type S3Store } from './s3-store.ts';

/** How a bucket is spoken to; another one in tests. */
export type OpenS3 = (spec: S3Spec, run: string, secrets: SecretSource) => Promise<S3Store>;

/**
 * The key of each file. Throws `deliver.target_refused` for a key that cannot be used or that two files would share,
 * `template.invalid`.
 */
export function objectsOf(spec: S3Spec, variables: TemplateVariables, artifacts: readonly Artifact[]): S3Object[] {
  const where = 'deliveries[].s3.key';
  const taken = new Map<string, string>();
  return artifacts.map((artifact) => {
    const key = fillPath(spec.key, { ...variables, file: { name: artifact.name } }, where);
    const other = taken.get(key);
    if (other !== undefined || key.startsWith('/')) {
      throw new DocketError('deliver.target_refused', `The key of ${artifact.name} cannot be used.`, {
        expected: 'a key of its own for each file, without "/" in front',
        got: other === undefined ? `"${key}"` : `"${key}", which is ${other}'s`,
        next: `Put {{ file.name }} into ${where} in the report definition.`,
      });
    }
    taken.set(key, artifact.name);
    return { key, artifact };
  });
}

type Put = { readonly state: 'sent'; readonly before: boolean } | (Ending & { readonly state: 'refused' | 'pending' });

/**
 * Puts what is missing. A key holds the whole file or nothing of it, and what became of a PUT whose answer was lost is
 * asked: an object store never leaves us in doubt, so this never ends `unknown`, and doing it again changes nothing.
 */
export function putAll(
  spec: S3Spec,
  run: string,
  objects: readonly S3Object[],
  secrets: SecretSource,
  open: OpenS3 = openS3,
): Leave {
  return async (signal, fence = noFence) => {
    let store: S3Store;
    try {
      store = await open(spec, run, secrets);
    } catch (error) {
      if (isRefusal(error)) return { state: 'refused', detail: wordsOf(error) };
      return { state: 'pending', detail: wordsOf(error), targetDown: true };
    }
    try {
      let before = 0;
      for (const [index, object] of objects.entries()) {
        const put = await putOne(store, spec, object, signal, fence);
        if (put.state !== 'sent') {
          const done = index === 0 ? '' : ` (${index} of ${objects.length} files are there)`;
          return { ...put, detail: `${object.key}: ${put.detail}${done}` };
        }
        if (put.before) before += 1;
      }
      const files = `${objects.length} ${objects.length === 1 ? 'object' : 'objects'}`;
      return { state: 'sent', detail: before === 0 ? files : `${files}, ${before} there already` };
    } finally {
      store.close();
    }
  };
}

async function putOne(store: S3Store, spec: S3Spec, object: S3Object, signal: AbortSignal, fence: Fence): Promise<Put> {
  let standing = await store.look(object).catch((error: unknown) => store.failure(error));
  if (typeof standing !== 'string') return unsent(standing);
  const taken: Put = { state: 'refused', detail: OTHER_BYTES };
  if (standing === 'same') return { state: 'sent', before: true };
  if (standing === 'other' && !spec.overwrite) return taken;
  for (let onlyNew = !spec.overwrite; ; onlyNew = false) {
    if (signal.aborted) return { state: 'pending', detail: 'Stopped before it was sent.' };
    try {
      await fence.pass();
      await store.put(object, onlyNew, signal);
      return { state: 'sent', before: false };
    } catch (error) {
      if (error instanceof NotConfirmed) return { state: 'pending', detail: error.message };
      const failure = store.failure(error);
      if (failure.kind === 'unconditional' && onlyNew) {
        if (standing === 'absent') continue;
        return { state: 'refused', detail: BLIND };
      }
      if (failure.kind === 'refused') return { state: 'refused', detail: failure.said };
      // The answer was lost, or an earlier try of ours came through: the store itself knows.
      standing = await store.look(object).catch(() => 'hidden' as const);
      if (standing === 'same') return { state: 'sent', before: failure.kind === 'taken' };
      return failure.kind === 'taken' ? taken : unsent(failure);
    }
  }
}

const OTHER_BYTES =
  'other bytes stand under this key already; remove them, make the key differ, or write "overwrite: true".';
const BLIND =
  'the store cannot keep what stands there from being replaced, and does not let us look; let the key read it, or write "overwrite: true".';

const unsent = ({ kind, said }: ReturnType<S3Store['failure']>): Put =>
  kind === 'refused'
    ? { state: 'refused', detail: said }
    : kind === 'down'
      ? { state: 'pending', detail: said, targetDown: true }
      : { state: 'pending', detail: said };

/** Whether every file stands under its key. */
export async function holdsObjects(
  spec: S3Spec,
  run: string,
  objects: readonly S3Object[],
  secrets: SecretSource,
  open: OpenS3 = openS3,
): Promise<boolean> {
  const store = await open(spec, run, secrets);
  try {
    for (const object of objects) if ((await store.look(object)) !== 'same') return false;
    return true;
  } finally {
    store.close();
  }
}
