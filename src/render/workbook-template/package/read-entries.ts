import { type Entry, validateFileName, type ZipFile } from 'yauzl';
import { clipText, invalidTemplate } from './invalid-template.ts';
import { TEMPLATE_LIMITS } from './template-package.ts';

const MEGABYTE = 1024 * 1024;
/** Of a local file header without its name and extra fields. */
const LOCAL_HEADER_BYTES = 30;
const STORED = 0;
const DEFLATED = 8;

/**
 * The entries of a zip in their order, folders included. Nothing is inflated.
 * @throws `template.invalid` for limits, encryption, unknown compression, names that leave the package or occur twice, and
 * entries that share bytes
 */
export async function readEntries(zip: ZipFile, file: string): Promise<readonly Entry[]> {
  if (zip.entryCount > TEMPLATE_LIMITS.parts) {
    throw tooLarge(file, `at most ${TEMPLATE_LIMITS.parts} parts`, `${zip.entryCount}`);
  }
  const entries: Entry[] = [];
  const names = new Set<string>();
  let inflated = 0;
  for await (const entry of zip.eachEntry()) {
    inflated += entry.uncompressedSize;
    assertReadable(file, entry);
    if (inflated > TEMPLATE_LIMITS.inflatedBytes) {
      throw tooLarge(file, `at most ${TEMPLATE_LIMITS.inflatedBytes / MEGABYTE} MB inflated`, 'more');
    }
    // Packages compare names without regard to case.
    const name = entry.fileName.toLowerCase();
    if (names.has(name)) {
      throw invalidTemplate(file, 'The workbook is damaged: it contains a part twice.', {
        expected: 'each part once',
        got: clipText(entry.fileName),
      });
    }
    names.add(name);
    entries.push(entry);
  }
  assertApart(file, zip, entries);
  return entries;
}

function assertReadable(file: string, entry: Entry): void {
  const name = clipText(entry.fileName);
  if (entry.isEncrypted()) {
    throw invalidTemplate(file, 'The workbook is encrypted.', {
      expected: 'a workbook without a password',
      got: `${name}, encrypted`,
      next: 'Remove the password in Excel; `password` of the output encrypts the filled workbook.',
    });
  }
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw invalidTemplate(file, 'The workbook is compressed in a way that Excel does not use.', {
      expected: 'deflate or no compression',
      got: `${name} with method ${entry.compressionMethod}`,
    });
  }
  if (validateFileName(entry.fileName) !== null || /\p{Cc}|(?:^|\/)\.{1,2}(?:\/|$)/u.test(entry.fileName)) {
    throw invalidTemplate(file, 'The workbook is damaged: a part has a name outside of the package.', {
      expected: 'names such as xl/workbook.xml',
      got: name,
    });
  }
  const { compressedSize, uncompressedSize } = entry;
  if (uncompressedSize > MEGABYTE && uncompressedSize > compressedSize * TEMPLATE_LIMITS.ratio) {
    throw tooLarge(
      file,
      `parts that inflate to at most ${TEMPLATE_LIMITS.ratio} times their size`,
      `${name}: ${compressedSize} bytes for ${uncompressedSize}`,
    );
  }
}

/** Entries that share compressed bytes make small files inflate to much more than their sizes say together. */
function assertApart(file: string, zip: ZipFile, entries: readonly Entry[]): void {
  let free = 0;
  for (const entry of entries.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader)) {
    const start = entry.relativeOffsetOfLocalHeader;
    const end = start + LOCAL_HEADER_BYTES + entry.fileNameLength + entry.compressedSize;
    if (start < free || end > zip.fileSize) {
      throw invalidTemplate(file, 'The workbook is damaged: its parts overlap.', {
        expected: 'each part in bytes of its own',
        got: clipText(entry.fileName),
      });
    }
    free = end;
  }
}

const tooLarge = (file: string, expected: string, got: string) =>
  invalidTemplate(file, 'The workbook is too large to be a template.', {
    expected,
    got,
    next: 'Remove data and pictures that the template does not need.',
  });
