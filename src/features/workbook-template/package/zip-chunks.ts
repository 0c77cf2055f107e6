import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { crc32, createDeflateRaw, deflateRaw } from 'node:zlib';
import { DocketError } from '../../../base/error.ts';

/** The metadata of a zip entry. Times are in the format of the zip, without a zone. */
export interface ZipHeader {
  readonly name: string;
  readonly versionMadeBy: number;
  readonly lastModFileTime: number;
  readonly lastModFileDate: number;
  readonly internalFileAttributes: number;
  readonly externalFileAttributes: number;
}

/** Compressed bytes from another zip. */
export interface CompressedContent {
  readonly compressionMethod: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly uncompressedSize: number;
  open(): Promise<Readable>;
}

export interface ZipEntry {
  readonly header: ZipHeader;
  /** A string is compressed at once, chunks as they arrive. */
  readonly content: CompressedContent | string | (() => AsyncIterable<string | Uint8Array>);
}

/** The limits of the original zip format. Excel does not open packages of several gigabytes. */
const MAX_BYTES = 0xffff_ffff;
const MAX_ENTRIES = 0xffff;
const DEFLATED = 8;
const DEFLATE_LEVEL = 6;
const UTF_8_NAME = 0x800;
const SIZES_BEHIND_DATA = 0x8;
/** Strings are collected up to this many characters, and then encoded together. */
const BATCH_CHARACTERS = 64 * 1024;

interface Sizes {
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly compressed: number;
  readonly inflated: number;
}

/**
 * Yields the bytes of a zip, entry by entry. Not `Zip` of fflate: it converts times to the local zone and back, so the
 * bytes would depend on the machine, and it refuses the day 0, which many tools write.
 * @throws `render.failed` above 4 GB
 */
export async function* zipChunks(entries: Iterable<ZipEntry>): AsyncGenerator<Uint8Array> {
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { header, content } of entries) {
    const start = offset;
    let written: Sizes | undefined;
    for await (const piece of entryChunks(header, content)) {
      if (piece instanceof Uint8Array) {
        offset += piece.length;
        yield piece;
      } else written = piece;
    }
    if (written === undefined) throw new Error(`The entry ${header.name} has no sizes.`);
    if (offset > MAX_BYTES || written.inflated > MAX_BYTES || directory.length >= MAX_ENTRIES) {
      throw new DocketError('render.failed', 'The filled workbook is too large.', {
        expected: 'at most 4 GB and 65,535 parts',
        got: 'more',
        next: 'Select fewer rows, or remove pictures from the template.',
      });
    }
    directory.push(directoryHeader(header, written, start));
  }
  const bytes = Buffer.concat(directory);
  yield bytes;
  yield endOfDirectory(directory.length, bytes.length, offset);
}

/** Yields the local header and the data, and finally the sizes. */
async function* entryChunks(header: ZipHeader, content: ZipEntry['content']): AsyncGenerator<Uint8Array | Sizes> {
  if (typeof content === 'function') return yield* streamedChunks(header, content());
  const name = nameFlag(header.name);
  if (typeof content === 'string') {
    const bytes = Buffer.from(content);
    const data = await promisify<Buffer, object, Buffer>(deflateRaw)(bytes, { level: DEFLATE_LEVEL });
    const sizes = {
      flags: name,
      method: DEFLATED,
      crc: crc32(bytes),
      compressed: data.length,
      inflated: bytes.length,
    };
    yield localHeader(header, sizes);
    yield data;
    yield sizes;
    return;
  }
  const sizes = {
    flags: name,
    method: content.compressionMethod,
    crc: content.crc32,
    compressed: content.compressedSize,
    inflated: content.uncompressedSize,
  };
  yield localHeader(header, sizes);
  yield* await content.open();
  yield sizes;
}

/** The sizes of a stream are only known at its end, so they follow its data. */
async function* streamedChunks(
  header: ZipHeader,
  chunks: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<Uint8Array | Sizes> {
  let crc = 0;
  let inflated = 0;
  let compressed = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of encoded(chunks)) {
      crc = crc32(chunk, crc);
      inflated += chunk.length;
      yield chunk;
    }
  }
  const flags = nameFlag(header.name) | SIZES_BEHIND_DATA;
  yield localHeader(header, { flags, method: DEFLATED, crc: 0, compressed: 0, inflated: 0 });
  // Errors of the source end the loop below.
  const source = Readable.from(counted(), { objectMode: false });
  for await (const chunk of pipeline(source, createDeflateRaw({ level: DEFLATE_LEVEL }), () => undefined)) {
    compressed += chunk.length;
    yield chunk;
  }
  const descriptor = Buffer.alloc(16);
  descriptor.writeUInt32LE(0x08074b50, 0);
  descriptor.writeUInt32LE(crc, 4);
  descriptor.writeUInt32LE(compressed, 8);
  descriptor.writeUInt32LE(inflated, 12);
  yield descriptor;
  yield { flags, method: DEFLATED, crc, compressed, inflated };
}

async function* encoded(chunks: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  let text = '';
  for await (const chunk of chunks) {
    if (typeof chunk === 'string') text += chunk;
    if (text.length >= BATCH_CHARACTERS || (typeof chunk !== 'string' && text.length > 0)) {
      yield Buffer.from(text);
      text = '';
    }
    if (typeof chunk !== 'string') yield chunk;
  }
  if (text.length > 0) yield Buffer.from(text);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is the range.
const nameFlag = (name: string): number => (/^[\u0000-\u007f]*$/.test(name) ? 0 : UTF_8_NAME);

/** The fields that local and directory headers share: from the required version to the length of the name. */
function common(header: ZipHeader, { flags, method, crc, compressed, inflated }: Sizes): Buffer {
  const bytes = Buffer.alloc(26);
  bytes.writeUInt16LE(20, 0);
  bytes.writeUInt16LE(flags, 2);
  bytes.writeUInt16LE(method, 4);
  bytes.writeUInt16LE(header.lastModFileTime, 6);
  bytes.writeUInt16LE(header.lastModFileDate, 8);
  bytes.writeUInt32LE(crc, 10);
  bytes.writeUInt32LE(compressed, 14);
  bytes.writeUInt32LE(inflated, 18);
  bytes.writeUInt16LE(Buffer.byteLength(header.name), 22);
  return bytes;
}

const localHeader = (header: ZipHeader, sizes: Sizes): Buffer =>
  Buffer.concat([Buffer.from('PK\u0003\u0004'), common(header, sizes), Buffer.from(header.name)]);

function directoryHeader(header: ZipHeader, sizes: Sizes, start: number): Buffer {
  const version = Buffer.alloc(2);
  version.writeUInt16LE(header.versionMadeBy, 0);
  const rest = Buffer.alloc(14);
  rest.writeUInt16LE(header.internalFileAttributes, 4);
  rest.writeUInt32LE(header.externalFileAttributes, 6);
  rest.writeUInt32LE(start, 10);
  return Buffer.concat([Buffer.from('PK\u0001\u0002'), version, common(header, sizes), rest, Buffer.from(header.name)]);
}

function endOfDirectory(entries: number, bytes: number, start: number): Buffer {
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 0, 'latin1');
  end.writeUInt16LE(entries, 8);
  end.writeUInt16LE(entries, 10);
  end.writeUInt32LE(bytes, 12);
  end.writeUInt32LE(start, 16);
  return end;
}
