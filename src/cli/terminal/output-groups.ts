import { extname } from 'node:path';
import { formatByteCount, formatCounted } from '../../admin/page/components/format-numbers.ts';

/** A file of a run. */
export interface NamedFile {
  readonly name: string;
  readonly bytes: number;
}

/** The files of one output, in their order. */
export interface FileGroup<File extends NamedFile = NamedFile> {
  /** `XLSX`, `PDF`, `CSV`; for other files their extension. */
  readonly kind: string;
  readonly files: readonly File[];
  /** Files that belong to them and are not listed separately: the schemas of CSV files. */
  readonly companions: readonly File[];
}

const SCHEMA_ENDING = '.schema.json';

/** Groups the files of a run by output. A report in CSV has a file for each section, and a schema for each file. */
export function groupFiles<File extends NamedFile>(files: readonly File[]): readonly FileGroup<File>[] {
  const groups = new Map<string, { kind: string; files: File[]; companions: File[] }>();
  for (const file of files) {
    const isSchema = file.name.endsWith(SCHEMA_ENDING);
    const kind = isSchema ? 'CSV' : extname(file.name).slice(1).toUpperCase();
    const group = groups.get(kind) ?? { kind, files: [], companions: [] };
    (isSchema ? group.companions : group.files).push(file);
    groups.set(kind, group);
  }
  return [...groups.values()];
}

/** `Weekly KPIs 2026-W47.xlsx (35 KB)`; for several files `14 CSV files and their schemas (112 KB)`. */
export function formatFileGroup({ kind, files, companions }: FileGroup): string {
  const bytes = formatByteCount([...files, ...companions].reduce((sum, file) => sum + file.bytes, 0));
  const [only, ...more] = files;
  if (only !== undefined && more.length === 0) {
    return `${only.name}${companions.length === 0 ? '' : ' and its schema'} (${bytes})`;
  }
  const schemas = companions.length === 0 ? '' : ' and their schemas';
  return `${formatCounted(files.length, `${kind} file`)}${schemas} (${bytes})`;
}
