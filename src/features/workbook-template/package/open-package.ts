import { once } from 'node:events';
import { close as closeFile, fstat, open as openFile, read } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { crc32, createInflateRaw } from 'node:zlib';
import { type Entry, fromFdPromise, validateFileName, type ZipFile } from 'yauzl';
import { findDiskFailure, isErrno } from '../../../base/errno.ts';
import { DocketError, errorMessage } from '../../../base/error.ts';
import { CONTENT_TYPES_PART, type ContentTypes, contentTypeOf, parseContentTypes, partKey } from './content-types.ts';
import { clipText, invalidTemplate, readingFile } from './invalid-template.ts';
import { parseRelationships, relationshipsPart } from './relationships.ts';
import { type Relationship, TEMPLATE_LIMITS, type TemplatePackage } from './template-package.ts';

/** A package with its zip entries, which `writePackage` copies. */
export interface OpenedPackage extends TemplatePackage {
  /** In the order of the zip. Folders are not parts. */
  readonly entries: readonly Entry[];
  /** The compressed bytes of an entry. */
  openCompressed(entry: Entry): Promise<Readable>;
}

/**
 * Opens a workbook. The caller closes it.
 * @param file its name in diagnostics
 * @throws `template.invalid`
 */
export async function openPackage(path: string, file: string): Promise<OpenedPackage> {
  const zip = await openZip(path, file);
  try {
    const entries = await readEntries(zip, file);
    const pack = new ZipPackage(file, zip, entries);
    await readingFile(file, () => pack.readContentTypes());
    return pack;
  } catch (thrown) {
    zip.close();
    throw toInvalid(file, thrown);
  }
}

/** The magic number of OLE files: `.xls`, and workbooks with a password. */
const OLE = Buffer.from('d0cf11e0a1b11ae1', 'hex');

async function openZip(path: string, file: string): Promise<ZipFile> {
  let fd: number;
  try {
    fd = await promisify(openFile)(path, 'r');
  } catch (cause) {
    if (!isErrno(cause, 'ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR', 'ELOOP', 'ENAMETOOLONG')) throw cause;
    throw invalidTemplate(file, 'The template cannot be opened.', {
      expected: 'a workbook that Docket may read',
      got: errorMessage(cause).split(',')[0] ?? '',
      next: 'Put the workbook beside org.yaml, or correct `template`.',
      cause,
    });
  }
  try {
    const stat = await promisify(fstat)(fd);
    const got = stat.isFile() ? undefined : 'something other than a file';
    if (got !== undefined) throw notWorkbook(file, got);
    if (stat.size > TEMPLATE_LIMITS.fileBytes) {
      throw invalidTemplate(file, 'The workbook is too large to be a template.', {
        expected: `at most ${TEMPLATE_LIMITS.fileBytes / 1024 / 1024} MB`,
        got: `${Math.ceil(stat.size / 1024 / 1024)} MB`,
        next: 'Remove data and pictures that the template does not need.',
      });
    }
    const start = Buffer.alloc(OLE.length);
    await promisify(read)(fd, start, 0, start.length, 0);
    if (start.equals(OLE)) throw notWorkbook(file, 'a workbook with a password, or one of Excel 97–2003 (.xls)');
    if (start.subarray(0, 2).toString('latin1') !== 'PK') throw notWorkbook(file, 'another kind of file');
    // Names with backslashes are refused, not changed to slashes.
    return await fromFdPromise(fd, { autoClose: false, strictFileNames: true });
  } catch (thrown) {
    await promisify(closeFile)(fd);
    throw toInvalid(file, thrown);
  }
}

const notWorkbook = (file: string, got: string): DocketError =>
  invalidTemplate(file, 'The template is not a workbook.', {
    expected: 'a workbook without a password: .xlsx, .xlsm, .xltx or .xltm',
    got,
    next: 'Save it in Excel as .xlsx or .xlsm, without a password.',
  });

/** Errors of zip and zlib mean that the file is damaged. Errors of the disk stay unchanged. */
function toInvalid(file: string, thrown: unknown, part?: string): unknown {
  if (thrown instanceof DocketError || findDiskFailure(thrown) !== undefined) return thrown;
  const message = errorMessage(thrown);
  return invalidTemplate(file, 'The workbook is damaged.', {
    expected: part === undefined ? 'a complete zip' : `${part} complete and unchanged`,
    got: message.startsWith('End of central directory') ? 'a file that is cut off' : clipText(message),
    cause: thrown,
  });
}

class ZipPackage implements OpenedPackage {
  readonly file: string;
  readonly entries: readonly Entry[];
  readonly parts: readonly string[];
  readonly #zip: ZipFile;
  readonly #byKey: ReadonlyMap<string, Entry>;
  #types: ContentTypes = { overrides: new Map(), defaults: new Map() };

  constructor(file: string, zip: ZipFile, entries: readonly Entry[]) {
    this.file = file;
    this.entries = entries;
    this.#zip = zip;
    const files = entries.filter(({ fileName }) => !fileName.endsWith('/'));
    this.parts = files.map(({ fileName }) => fileName);
    this.#byKey = new Map(files.map((entry) => [partKey(entry.fileName), entry]));
  }

  async readContentTypes(): Promise<void> {
    if (!this.has(CONTENT_TYPES_PART)) throw notWorkbook(this.file, 'a zip without [Content_Types].xml');
    this.#types = parseContentTypes(await this.readText(CONTENT_TYPES_PART));
  }

  has(part: string): boolean {
    return this.#byKey.has(partKey(part));
  }

  contentType(part: string): string | undefined {
    return contentTypeOf(this.#types, part);
  }

  async relationships(part?: string): Promise<readonly Relationship[]> {
    const source = relationshipsPart(part);
    if (!this.has(source)) return [];
    const text = await this.readText(source);
    const actual = (name: string): string | undefined => this.#byKey.get(partKey(name))?.fileName;
    return readingFile(this.file, async () => parseRelationships(text, part, actual));
  }

  async readText(part: string): Promise<string> {
    const { uncompressedSize } = this.#entry(part);
    if (uncompressedSize > TEMPLATE_LIMITS.partBytes) {
      throw invalidTemplate(this.file, 'A part of the workbook is too large.', {
        expected: `at most ${TEMPLATE_LIMITS.partBytes / 1024 / 1024} MB inflated`,
        got: `${clipText(part)} with ${Math.ceil(uncompressedSize / 1024 / 1024)} MB`,
        next: 'Remove data that the template does not need.',
      });
    }
    const bytes = await buffer(await this.openPart(part));
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch (cause) {
      throw invalidTemplate(this.file, `The workbook's ${clipText(part)} cannot be read.`, {
        expected: 'UTF-8',
        got: 'another encoding',
        cause,
      });
    }
  }

  async openPart(part: string): Promise<Readable> {
    return Readable.from(this.#inflated(this.#entry(part)), { objectMode: false });
  }

  async openCompressed(entry: Entry): Promise<Readable> {
    try {
      return await this.#zip.openReadStreamPromise(entry, { decodeFileData: false });
    } catch (thrown) {
      throw toInvalid(this.file, thrown, clipText(entry.fileName));
    }
  }

  async close(): Promise<void> {
    if (!this.#zip.isOpen) return;
    const closed = once(this.#zip, 'close');
    this.#zip.close();
    await closed;
  }

  async *#inflated(entry: Entry): AsyncGenerator<Buffer> {
    let bytes = 0;
    let sum = 0;
    const compressed = await this.openCompressed(entry);
    try {
      const chunks =
        entry.compressionMethod === 0
          ? compressed
          : // An error of either stream ends the loop below.
            pipeline(compressed, createInflateRaw(), () => undefined);
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > entry.uncompressedSize) break;
        sum = crc32(chunk, sum);
        yield chunk;
      }
      if (bytes !== entry.uncompressedSize || sum !== entry.crc32) {
        throw new Error('its size or checksum is not what the zip says');
      }
    } catch (thrown) {
      throw toInvalid(this.file, thrown, clipText(entry.fileName));
    } finally {
      compressed.destroy();
    }
  }

  #entry(part: string): Entry {
    const entry = this.#byKey.get(partKey(part));
    if (entry !== undefined) return entry;
    throw invalidTemplate(this.file, 'The workbook is damaged: a part is missing.', {
      expected: clipText(part),
      got: 'no such part',
    });
  }
}

const MEGABYTE = 1024 * 1024;
/** Size of a local file header without its name and extra fields. */
const LOCAL_HEADER_BYTES = 30;
const STORED = 0;
const DEFLATED = 8;

/**
 * The entries of a zip in order, including folders. Inflates nothing.
 * @throws `template.invalid` for exceeded limits, encryption, unknown compression, names that leave the package or
 * occur twice, and entries that share bytes
 */
async function readEntries(zip: ZipFile, file: string): Promise<readonly Entry[]> {
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
    // Part names do not depend on case.
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

/** Refuses entries that share compressed bytes: a small file could inflate to much more than the sum of its sizes. */
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
