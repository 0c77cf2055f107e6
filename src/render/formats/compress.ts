import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Output } from '../../definitions/schema/kinds.ts';
import type { Artifact } from '../artifact.ts';
import { renderFileName } from '../file-names.ts';
import { compressSchema } from './compress-schema.ts';
import { writeZip } from './csv/zip.ts';
import type { FormatContext, PlannedFile } from './format.ts';

/** Writes files to a folder beside `path`, and removes the folder afterwards. */
async function withFiles(
  files: readonly PlannedFile[],
  path: string,
  earlier: readonly Artifact[],
  use: (written: readonly { readonly name: string; readonly path: string }[]) => Promise<void>,
): Promise<void> {
  const folder = `${path}.parts`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  try {
    const written = files.map(({ name }) => ({ name, path: join(folder, name) }));
    for (const [index, file] of files.entries()) await file.write(written[index]?.path ?? '', earlier);
    await use(written);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const gzipped = (file: PlannedFile, signal: AbortSignal): PlannedFile => ({
  ...file,
  name: `${file.name}.gz`,
  mediaType: 'application/gzip',
  write: (path, earlier) =>
    withFiles([file], path, earlier, async ([plain]) => {
      if (plain === undefined) return;
      // The gzip header has neither name nor time, so the same rows give the same bytes.
      await pipeline(createReadStream(plain.path), createGzip(), createWriteStream(path, { flags: 'wx' }), { signal });
    }),
});

/**
 * Compresses the files of an output as its `compress` says. Gzip leaves files that describe others (`part`) readable. A
 * zip contains all files, and its entries have the day of `madeAt`.
 */
export function compressFiles(
  files: readonly PlannedFile[],
  output: Output,
  { variables, madeAt, signal }: FormatContext,
): readonly PlannedFile[] {
  const compress = compressSchema.parse(output.compress);
  if (compress === undefined || files.length === 0) return files;
  if (compress === 'gzip') return files.map((file) => (file.part === undefined ? gzipped(file, signal) : file));
  return [
    {
      name: renderFileName('{{ title }} {{ period.label }}', variables, `.${output.format}.zip`),
      format: output.format,
      mediaType: 'application/zip',
      label: `the zip of the ${output.format.toUpperCase()} files`,
      write: (path, earlier) => withFiles(files, path, earlier, (written) => writeZip(path, written, madeAt, signal)),
    },
  ];
}
