import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { findDiskFailure, isErrno } from '../../../base/errno.ts';
import { DocketError, errorMessage, isStorageOutage } from '../../../base/error.ts';
import { describeDiskFailure } from '../../../base/files/disk-error.ts';
import { createFolder, PROBE_BYTES, syncPath, writeSynced } from '../../../base/files/durable-file.ts';
import { renderPath } from '../../../base/files/safe-path.ts';
import { sha256 } from '../../../base/sha256.ts';
import type { TemplateVariables } from '../../../base/text/template.ts';
import { pathDiagnostics } from '../../../definitions/diagnostics/delivery-diagnostics.ts';
import { deliveryTextSchema } from '../../../definitions/schema/template-fields.ts';
import type { Artifact } from '../../../render/artifact.ts';
import { artifactBytes } from '../../archive/run-folder/artifact-bytes.ts';
import type { AttemptResult } from '../../attempt.ts';
import { destinationGuard } from '../../destination-guard.ts';
import { type Fence, noFence } from '../../internal/fence.ts';
import {
  chosenFiles,
  FileConflictError,
  fileConflictDetail,
  fileCount,
  filePaths,
  filesSchema,
  fillOrUndefined,
  OVERWRITE_DESCRIPTION,
  probeName,
  requireFiles,
  shownFormats,
} from '../file-target.ts';
import {
  type DeliveryContext,
  defineTarget,
  newRow,
  type ProbeContext,
  probeError,
  type TargetProbe,
  templateVariables,
} from '../target.ts';

const directorySchema = (formats: readonly string[]) =>
  z.strictObject({
    path: deliveryTextSchema.describe('Folder, e.g. "out/{{ period.label }}"; created if it does not exist.'),
    files: filesSchema(formats),
    overwrite: z.boolean().optional().describe(OVERWRITE_DESCRIPTION),
  });
type DirectorySpec = z.infer<ReturnType<typeof directorySchema>>;

const fillPath = (template: string, variables: TemplateVariables): string =>
  renderPath(template, variables, 'deliveries[].directory.path');

const folderOf = ({ path }: DirectorySpec, { published, workingDirectory }: DeliveryContext): string =>
  targetFolder(fillPath(path, templateVariables(published.manifest)), workingDirectory);

/** Writes the files to a folder of this machine. */
export const directoryTarget = defineTarget({
  kind: 'directory',
  label: 'Folder',
  attachField: 'files',
  schema: directorySchema,
  diagnostics: ({ path }, context) => pathDiagnostics(['path'], path, context),
  describe: ({ path, files, overwrite = false }) => ({
    writes: { template: `${path}/{{ file.name }}`, overwrite },
    addresses: [path],
    shows: { formats: shownFormats({ files }), parts: [] },
    labels: [`directory ${path}`],
    destinations: [{ path: ['path'], folder: path }],
  }),
  list: (target, spec, context) => {
    const { published } = context;
    const filled = fillOrUndefined(() => fillPath(spec.path, templateVariables(published.manifest)));
    const files = chosenFiles(published.artifacts, spec);
    return [
      {
        row: newRow(published, target, filled ?? spec.path, spec.path),
        service: target,
        messageId: null,
        verify: async () => ((await hasAllFiles(folderOf(spec, context), files)) ? 'sent' : 'unknown'),
        fileLocations: () => filePaths(folderOf(spec, context), files),
      },
    ];
  },
  send: async (_, spec, context) => {
    const { published, settings, destinations, workingDirectory } = context;
    const folder = folderOf(spec, context);
    await destinationGuard(settings, destinations).assertFolder(folder, workingDirectory);
    const files = requireFiles(published.artifacts, spec);
    return (signal, fence) => writeFiles(folder, files, signal, spec.overwrite, fence);
  },
  probe: ({ path }, context) => probeDirectory(path, context),
});

/** Writes a test file to the folder, or to its nearest existing ancestor. */
function probeDirectory(template: string, { variables, guard, workingDirectory }: ProbeContext): TargetProbe {
  return {
    name: `Directory ${template}`,
    probe: async () => {
      let folder = targetFolder(fillPath(template, variables), workingDirectory);
      await guard.assertFolder(folder, workingDirectory);
      while (folder !== dirname(folder) && (await stat(folder).catch(() => undefined)) === undefined)
        folder = dirname(folder);
      const path = join(folder, probeName());
      try {
        await writeSynced(path, new Uint8Array(PROBE_BYTES));
      } catch (error) {
        const next = 'Correct the path, or let Docket write there.';
        throw probeError(`The directory ${folder}`, errorMessage(error), next);
      } finally {
        await rm(path, { force: true }).catch(() => {});
      }
      return `${folder} can be written`;
    },
  };
}

/**
 * Resolves the folder of a filled path template against the working directory. Refuses `..` anywhere: a template value
 * could otherwise leave the folder. Throws `deliver.target_refused`.
 */
export function targetFolder(path: string, workingDirectory: string): string {
  const parts = path.split(/[/\\]/);
  if (path.trim() !== '' && !parts.includes('..') && !/\p{Cc}/u.test(path)) return resolve(workingDirectory, path);
  throw new DocketError('deliver.target_refused', 'The path of the directory cannot be used.', {
    expected: 'a path without ".." and control characters',
    got: JSON.stringify(path),
    next: 'Correct deliveries[].directory.path in the report definition.',
  });
}

/**
 * Compares the file at `path` with the artifact. An unreadable file counts as `other`. Throws the errors of a failing
 * disk.
 */
async function compareFile(path: string, artifact: Artifact): Promise<'absent' | 'same' | 'other'> {
  try {
    return sha256(await readFile(path)) === artifact.sha256 ? 'same' : 'other';
  } catch (error) {
    if (findDiskFailure(error) !== undefined) throw error;
    return isErrno(error, 'ENOENT') ? 'absent' : 'other';
  }
}

/** Whether the folder already holds exactly these files. */
async function hasAllFiles(folder: string, artifacts: readonly Artifact[]): Promise<boolean> {
  for (const artifact of artifacts) {
    if ((await compareFile(join(folder, artifact.name), artifact)) !== 'same') return false;
  }
  return true;
}

/** The result fields for a failing disk, with the free space. No fields for other errors. */
async function diskFaultResult(error: unknown, folder: string): Promise<Partial<AttemptResult>> {
  if (error instanceof DocketError) return isStorageOutage(error) ? { diskFault: true } : {};
  const fault = findDiskFailure(error);
  if (fault === undefined) return {};
  const details = await describeDiskFailure(fault.code, folder);
  return { diskFault: true, detail: `The directory cannot be written: ${fault.description} (${details})` };
}

/** Errors of file systems without hard links. There, the comparison before the write is the only check. */
const NO_HARD_LINK_CODES = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'] as const;

/** Moves a file to a name that must be unused: `rename` alone would replace an existing file. Throws `EEXIST`. */
async function renameIfAbsent(temporary: string, final: string): Promise<void> {
  try {
    await link(temporary, final);
  } catch (error) {
    if (!isErrno(error, ...NO_HARD_LINK_CODES)) throw error;
    return rename(temporary, final);
  }
  await rm(temporary, { force: true });
}

/**
 * Writes and syncs all files under temporary names, then renames them one by one, so that readers of the folder see
 * complete files only. With `overwrite`, replaces a file with the same name and other bytes; without it, refuses the
 * delivery before writing any file. A failure before the first rename leaves nothing behind and may be retried. After
 * that the result is `unknown`, because a reader may have taken a file.
 */
export async function writeFiles(
  folder: string,
  artifacts: readonly Artifact[],
  signal: AbortSignal,
  overwrite = false,
  fence: Fence = noFence,
): Promise<AttemptResult> {
  const written: { temporary: string; final: string }[] = [];
  let renamed = 0;
  try {
    await createFolder(folder);
    const missing: { artifact: Artifact; final: string }[] = [];
    for (const artifact of artifacts) {
      const final = join(folder, artifact.name);
      const existing = await compareFile(final, artifact);
      if (existing === 'other' && !overwrite) throw new FileConflictError(fileConflictDetail(final));
      if (existing !== 'same') missing.push({ artifact, final });
    }
    for (const { artifact, final } of missing) {
      signal.throwIfAborted();
      const temporary = join(folder, `.docket-${randomBytes(8).toString('hex')}.tmp`);
      written.push({ temporary, final });
      await writeSynced(temporary, await artifactBytes(artifact));
    }
    for (const { temporary, final } of written) {
      await fence.confirmIfStale();
      if (overwrite) await rename(temporary, final);
      else await renameIfAbsent(temporary, final);
      renamed += 1;
    }
    await syncPath(folder);
    return { state: 'sent', detail: fileCount(artifacts.length) };
  } catch (error) {
    for (const { temporary } of written) await rm(temporary, { force: true }).catch(() => {});
    const reason = errorMessage(error);
    if (renamed === 0 && error instanceof FileConflictError) return { state: 'refused', detail: reason };
    if (renamed === 0)
      return {
        state: 'pending',
        detail: `The directory cannot be written: ${reason}`,
        ...(await diskFaultResult(error, folder)),
      };
    return { state: 'unknown', detail: `${renamed} of ${written.length} files were written: ${reason}` };
  }
}
