import { createHash } from 'node:crypto';
import { fileDiagnostic } from '../diagnostics/diagnostic.ts';
import type { Definition } from '../schema/report-definition.ts';
import { hashOrgFile } from './org-file.ts';
import type { LoadedReport, ParsedReport } from './parse-definitions.ts';
import { readSplitList } from './split-list.ts';

/** Adds the SHA-256 of its files to a definition and to its digest. Without files the definition stays unchanged. */
export function withFileHashes(definition: Definition, files: Definition['files']): Definition {
  if (files === undefined) return definition;
  const digest = createHash('sha256')
    .update(JSON.stringify([definition.digest, Object.entries(files)]))
    .digest('hex');
  return Object.freeze({ ...definition, digest, files: Object.freeze(files) });
}

/**
 * Hashes the files that a report's outputs name, so that a changed file makes a new version of the report. If a file
 * cannot be used, the field that names it gets a diagnostic.
 *
 * @param folder the folder of `org.yaml`
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
  const { split } = definition;
  const list = typeof split?.to === 'string' ? await readSplitList(folder, split.to) : undefined;
  if (list !== undefined && !('to' in list) && diagnostics.length === 0) {
    const at = files.find(({ file }) => file === split?.to)?.at;
    const text = fileDiagnostic(source.file, list.expected ?? '', list.got ?? '', list.next ?? '');
    diagnostics.push({ ...text, ...at, code: 'split.invalid' });
  }
  if (diagnostics.length > 0) return { source, diagnostics, partial: { value: definition, source, lost: [] } };
  const read =
    split !== undefined && list !== undefined && 'to' in list
      ? { ...definition, split: { ...split, to: list.to } }
      : definition;
  return { ...parsed, definition: withFileHashes(read, hashes) };
}

/** Whether the files that a version of a report was loaded with are unchanged. */
export async function hasSameFiles({ definition }: LoadedReport, folder: string): Promise<boolean> {
  for (const [file, sha256] of Object.entries(definition.files ?? {})) {
    const read = await hashOrgFile(folder, file);
    if (!('sha256' in read) || read.sha256 !== sha256) return false;
  }
  return true;
}
