import { createHash } from 'node:crypto';
import { fileDiagnostic } from '../diagnostics/diagnostic.ts';
import type { Definition } from '../schema/report-definition.ts';
import type { KeptReport } from './kept-reports.ts';
import { hashOrgFile } from './org-file.ts';
import type { ParsedReport } from './parse-definitions.ts';

/** A definition that names files, with their SHA-256 in it and in its digest. Without files it stays as it is. */
export function withFileHashes(definition: Definition, files: Definition['files']): Definition {
  if (files === undefined) return definition;
  const digest = createHash('sha256')
    .update(JSON.stringify([definition.digest, Object.entries(files)]))
    .digest('hex');
  return Object.freeze({ ...definition, digest, files: Object.freeze(files) });
}

/**
 * Reads the files that a report's outputs name, so that a changed file makes another version of the report. A file that
 * cannot be used is a diagnostic of the field that names it.
 *
 * @param folder of `org.yaml`
 */
export async function readNamedFiles({ files = [], ...parsed }: ParsedReport, folder: string): Promise<ParsedReport> {
  const { source, definition } = parsed;
  if (definition === undefined || files.length === 0) return parsed;
  const hashes: Record<string, string> = {};
  const diagnostics = [...parsed.diagnostics];
  for (const { file, at } of files) {
    const read = await hashOrgFile(folder, file);
    if ('sha256' in read) hashes[file] = read.sha256;
    else
      diagnostics.push({
        ...fileDiagnostic(source.file, read.expected, read.got, read.next),
        ...at,
        code: 'template.invalid',
      });
  }
  if (diagnostics.length > 0) return { source, diagnostics, partial: { value: definition, source, lost: [] } };
  return { ...parsed, definition: withFileHashes(definition, hashes) };
}

/** Whether the files that a version of a report was loaded with are still the same. */
export async function hasSameFiles({ summary, textDigest, read }: KeptReport, folder: string): Promise<boolean> {
  if (summary.digest === textDigest) return true;
  const { files = {} } = read().definition;
  for (const [file, sha256] of Object.entries(files)) {
    const read = await hashOrgFile(folder, file);
    if (!('sha256' in read) || read.sha256 !== sha256) return false;
  }
  return true;
}
