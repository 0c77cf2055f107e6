import { createHash } from 'node:crypto';
import type { Client, FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2';
import { errorMessage } from '../../../base/error.ts';
import { type Redact, redactUntrusted } from '../../../base/secrets/redactor.ts';
import { oneLine } from '../../../base/text/bidi.ts';
import type { Artifact } from '../../../render/artifact.ts';
import { artifactChunks } from '../../archive/run-folder/artifact-bytes.ts';

/** An error of an SFTP server, for the ledger. */
export class SftpFailure extends Error {
  override readonly name = 'SftpFailure';
  /**
   * - `answered`: the server refused one request; `code` is its status
   * - `lost`: no reply; the request may have been executed
   * - `down`: no connection or login; nothing was requested
   * - `hostKeyMismatch`: the server's key is not the pinned one
   */
  readonly kind: 'answered' | 'lost' | 'down' | 'hostKeyMismatch';
  readonly code: number | undefined;
  /** The server refuses the request itself, and would refuse a repetition. */
  readonly permanent: boolean;

  constructor(kind: SftpFailure['kind'], detail: string, code?: number, permanent = false) {
    super(oneLine(detail));
    this.kind = kind;
    this.code = code;
    this.permanent = permanent;
  }
}

/** A request's name in messages. */
interface RequestName {
  readonly verb:
    | 'OPEN'
    | 'CLOSE'
    | 'WRITE'
    | 'FSYNC'
    | 'FSTAT'
    | 'STAT'
    | 'READ'
    | 'READDIR'
    | 'RENAME'
    | 'REMOVE'
    | 'MKDIR';
  readonly path: string;
}

/**
 * Requests that do not fail because of a full disk: if a server refuses one, it is not allowed, or not with this name.
 */
const PERMANENT_VERBS: ReadonlySet<string> = new Set(['OPEN', 'STAT', 'FSTAT', 'RENAME']);
/** Permission denied, failure, bad message, unsupported. */
const PERMANENT_CODES: ReadonlySet<number> = new Set([3, 4, 5, 8]);

/** Status codes (draft-ietf-secsh-filexfer-02 §7). */
const NO_SUCH_FILE = 2;
const UNSUPPORTED = 8;

/** Limit for one request. */
const REQUEST_TIMEOUT_MS = 60_000;
const CHUNK_BYTES = 32 * 1024;

type Callback<T> = (error: Error | null | undefined, value: T) => void;

export function createSftpSession(client: Client, sftp: SFTPWrapper, redact: Redact) {
  const pending = new Set<(error: Error) => void>();
  let closed = false;
  client.once('close', () => {
    closed = true;
    for (const fail of pending) fail(new Error('the connection was closed'));
  });

  /** Makes one request with a timeout: otherwise a silent server would block the run. */
  const request = <T>({ verb, path }: RequestName, start: (done: Callback<T>) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        fail(new Error(`no answer within ${REQUEST_TIMEOUT_MS / 1000} s`));
        client.destroy();
      }, REQUEST_TIMEOUT_MS);
      const settled = (): void => {
        clearTimeout(timer);
        pending.delete(fail);
      };
      const fail = (error: unknown): void => {
        settled();
        const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
        const detail = `${verb} ${path}: ${redactUntrusted(errorMessage(error), redact)}`;
        const permanent = PERMANENT_VERBS.has(verb) && PERMANENT_CODES.has(Number(code));
        reject(
          typeof code === 'number'
            ? new SftpFailure('answered', detail, code, permanent)
            : new SftpFailure('lost', detail),
        );
      };
      pending.add(fail);
      if (closed) return fail(new Error('the connection was closed'));
      try {
        start((error, value) => {
          if (error) return fail(error);
          settled();
          resolve(value);
        });
      } catch (error) {
        fail(error);
      }
    });
  const command = (name: RequestName, start: (done: (error?: Error | null) => void) => void): Promise<void> =>
    request<void>(name, (done) => start((error) => done(error, undefined)));
  sftp.on('error', () => client.destroy());

  const open = (path: string, flags: 'r' | 'wx'): Promise<Buffer> =>
    request({ verb: 'OPEN', path }, (done) => sftp.open(path, flags, done));
  const closeHandle = (handle: Buffer, path: string): Promise<void> =>
    command({ verb: 'CLOSE', path }, (done) => sftp.close(handle, done));

  /** Writes the slices of each chunk in parallel. */
  async function writeChunks(handle: Buffer, path: string, artifact: Artifact, signal: AbortSignal): Promise<void> {
    let offset = 0;
    for await (const chunk of artifactChunks(artifact, signal)) {
      const starts = Array.from({ length: Math.ceil(chunk.length / CHUNK_BYTES) }, (_, index) => index * CHUNK_BYTES);
      const base = offset;
      await Promise.all(
        starts.map((start) =>
          command({ verb: 'WRITE', path }, (done) =>
            sftp.write(handle, chunk, start, Math.min(CHUNK_BYTES, chunk.length - start), base + start, done),
          ),
        ),
      );
      offset += chunk.length;
    }
    // For a server without the extension ssh2 throws synchronously, and the file is not synced.
    await command({ verb: 'FSYNC', path }, (done) => sftp.ext_openssh_fsync(handle, done)).catch((error: unknown) => {
      if (error instanceof SftpFailure && error.kind === 'answered' && error.code !== UNSUPPORTED) throw error;
    });
    const { size } = await request<Stats>({ verb: 'FSTAT', path }, (done) => sftp.fstat(handle, done));
    if (size !== artifact.bytes) {
      throw new SftpFailure('answered', `the server holds ${size} bytes of ${artifact.bytes}`);
    }
  }

  /** The file's size; undefined if it does not exist. */
  const findSize = async (path: string): Promise<number | undefined> => {
    try {
      return (await request<Stats>({ verb: 'STAT', path }, (done) => sftp.stat(path, done))).size;
    } catch (error) {
      if (error instanceof SftpFailure && error.code === NO_SUCH_FILE) return undefined;
      throw error;
    }
  };

  return {
    size: findSize,
    /** SHA-256 (hex) of the file on the server. */
    digest: async (path: string): Promise<string> => {
      const hash = createHash('sha256');
      const handle = await open(path, 'r');
      try {
        for (let at = 0; ; ) {
          const read = await request<Buffer>({ verb: 'READ', path }, (done) => {
            const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
            // At the end of the file ssh2 reports 0 bytes and no error.
            sftp.read(handle, buffer, 0, CHUNK_BYTES, at, (error, bytes) => done(error, buffer.subarray(0, bytes)));
          });
          if (read.length === 0) return hash.digest('hex');
          hash.update(read);
          at += read.length;
        }
      } finally {
        await closeHandle(handle, path).catch(() => {});
      }
    },
    /** Lists a folder; undefined if that is not allowed. `modified` in epoch seconds. */
    list: async (folder: string) => {
      try {
        const entries = await request<FileEntryWithStats[]>({ verb: 'READDIR', path: folder }, (done) =>
          sftp.readdir(folder, done),
        );
        return entries.map(({ filename, attrs }) => ({ name: filename, modified: attrs.mtime }));
      } catch (error) {
        if (error instanceof SftpFailure && error.kind === 'answered') return undefined;
        throw error;
      }
    },
    /**
     * Creates a file. Verifies the artifact's bytes while reading them, and syncs the file if the server supports it.
     */
    write: async (path: string, artifact: Artifact, signal: AbortSignal): Promise<void> => {
      const handle = await open(path, 'wx');
      try {
        await writeChunks(handle, path, artifact, signal);
      } catch (error) {
        await closeHandle(handle, path).catch(() => {});
        throw error;
      }
      await closeHandle(handle, path);
    },
    /** Creates an empty file. */
    touch: async (path: string) => closeHandle(await open(path, 'wx'), path),
    /** Atomic. Without `replace` the server refuses an existing `to`. */
    rename: (from: string, to: string, replace: boolean) =>
      command({ verb: 'RENAME', path: `${from} to ${to}` }, (done) => {
        if (!replace) return sftp.rename(from, to, done);
        try {
          sftp.ext_openssh_rename(from, to, done);
        } catch {
          // Without the extension, uses the standard rename, which most servers refuse for an existing name.
          sftp.rename(from, to, done);
        }
      }),
    remove: (path: string) => command({ verb: 'REMOVE', path }, (done) => sftp.unlink(path, done)),
    makeFolder: async (path: string): Promise<void> => {
      const steps = path.split('/');
      for (const [index, step] of steps.entries()) {
        const folder = steps.slice(0, index + 1).join('/');
        if (step === '' || (await findSize(folder)) !== undefined) continue;
        await command({ verb: 'MKDIR', path: folder }, (done) => sftp.mkdir(folder, done)).catch(
          async (error: unknown) => {
            // Another program may have created the folder meanwhile.
            if ((await findSize(folder)) === undefined) throw error;
          },
        );
      }
    },
    close: (): void => void client.end(),
  };
}
export type SftpSession = ReturnType<typeof createSftpSession>;
