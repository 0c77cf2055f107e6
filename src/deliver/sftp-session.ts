import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import type { Client, FileEntryWithStats, ServerHostKeyAlgorithm, SFTPWrapper, Stats } from 'ssh2';
import { DocketError, wordsOf } from '../base/error.ts';
import { foreignText, type Redact } from '../base/redactor.ts';
import type { SecretSource } from '../base/secret.ts';
import { fingerprintOf, hostKeyType, readHostKey } from '../define/host-key.ts';
import { type SftpSpec, sftpServer } from '../define/target.ts';
import type { Artifact } from '../render/artifact.ts';
import { type AddressPolicy, ForbiddenAddress, guardedLookup, literalRefusal } from './guarded-lookup.ts';
import { oneLine } from './one-line.ts';
import { artifactPieces } from './sealed-folder.ts';

/** What went wrong at an SFTP server, for the ledger. */
export class SftpFailure extends Error {
  override readonly name = 'SftpFailure';
  /**
   * - `answered`: the server said no to one request; `code` is its status
   * - `lost`: no answer; what was asked may have been done
   * - `down`: nobody could be reached, or let us in; nothing was asked
   * - `stranger`: the server's key is not the pinned one
   */
  readonly kind: 'answered' | 'lost' | 'down' | 'stranger';
  readonly code: number | undefined;

  constructor(kind: SftpFailure['kind'], said: string, code?: number) {
    super(oneLine(said));
    this.kind = kind;
    this.code = code;
  }
}

/** Statuses of the protocol (draft-ietf-secsh-filexfer-02 §7). */
const NO_SUCH_FILE = 2;
const UNSUPPORTED = 8;

export interface SftpSession {
  /** Undefined when nothing is there. */
  size(path: string): Promise<number | undefined>;
  /** SHA-256 (hex) of what the server holds. */
  digest(path: string): Promise<string>;
  /** Undefined when the folder may not be listed. `modified` in epoch seconds. */
  list(folder: string): Promise<readonly { readonly name: string; readonly modified: number }[] | undefined>;
  /** A new file, its bytes checked while they are read, synced where the server can. */
  write(path: string, artifact: Artifact, signal: AbortSignal): Promise<void>;
  /** A new file of no bytes. */
  touch(path: string): Promise<void>;
  /** In one step. Without `replace` the server refuses when something has that name. */
  rename(from: string, to: string, replace: boolean): Promise<void>;
  remove(path: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  close(): void;
}

const READY_MS = 15_000;
/** For one request; a server that is silent for longer is gone. */
const SILENCE_MS = 60_000;
const KEEPALIVE_MS = 10_000;
const SLICE = 32 * 1024;

/** RSA keys sign with SHA-2 today, whatever the key's type is called. */
const algorithmsOf = (type: string): readonly ServerHostKeyAlgorithm[] => {
  if (type === 'ssh-rsa') return ['rsa-sha2-512', 'rsa-sha2-256'];
  const known = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'] as const;
  return known.filter((one) => one === type);
};

/**
 * Connects, compares the server's key with the pinned ones, signs in and opens SFTP. The library is loaded here and not
 * before. Throws `SftpFailure` (`down`, `stranger`), `config.secret_missing`, `config.secret_refused`, `deliver.target_refused`
 * for an address that may not be connected to.
 */
export async function openSftp(
  spec: SftpSpec,
  secrets: SecretSource,
  addresses: AddressPolicy = { allowPrivate: true },
): Promise<SftpSession> {
  const literal = literalRefusal(spec.host, addresses);
  if (literal !== undefined) throw refused(spec, literal);
  const look = async (ref: SftpSpec['password']) => (ref === undefined ? undefined : await secrets(ref));
  const [{ default: ssh2 }, password, privateKey, passphrase] = await Promise.all([
    import('ssh2'),
    look(spec.password),
    look(spec.private_key),
    look(spec.passphrase),
  ]);
  const pinned = spec.host_key.flatMap((text) => readHostKey(text) ?? []);
  const types = pinned.map(({ type }) => type);
  const algorithms = types.flatMap((type) => (type === undefined ? [] : algorithmsOf(type)));
  const client = new ssh2.Client();
  let stranger: string | undefined;
  const sftp = await new Promise<SFTPWrapper>((resolve, reject) => {
    const sock = connect({ host: spec.host, port: spec.port, lookup: guardedLookup(addresses) });
    const fail = (error: Error): void => {
      client.destroy();
      sock.destroy();
      reject(
        error instanceof ForbiddenAddress
          ? refused(spec, error)
          : stranger === undefined
            ? new SftpFailure('down', `${sftpServer(spec)}: ${foreignText(error.message, secrets.redactor.redact)}`)
            : new SftpFailure('stranger', stranger),
      );
    };
    // The listener stays for good: a late `error` without one ends the process.
    client.on('error', fail);
    // The library takes the socket over only once it has read the keys.
    sock.on('error', fail);
    client.once('close', () => fail(new Error('the connection was closed')));
    client.once('ready', () => client.sftp((error, opened) => (error ? fail(error) : resolve(opened))));
    client.on('keyboard-interactive', (_name, _instructions, _language, prompts, finish) =>
      finish(prompts.length === 1 && password !== undefined ? [password.reveal()] : []),
    );
    try {
      client.connect({
        sock,
        username: spec.user,
        ...(password === undefined ? {} : { password: password.reveal(), tryKeyboard: true }),
        // Some keys are not read without the line break that ends them, which reading a secret trims.
        ...(privateKey === undefined ? {} : { privateKey: `${privateKey.reveal()}\n` }),
        ...(passphrase === undefined ? {} : { passphrase: passphrase.reveal() }),
        // A server shows one of its keys: where we know the type, it must be that one.
        ...(types.includes(undefined) ? {} : { algorithms: { serverHostKey: [...new Set(algorithms)] } }),
        hostVerifier: (key: Buffer) => {
          const fingerprint = fingerprintOf(key);
          if (pinned.some((one) => one.fingerprint === fingerprint)) return true;
          stranger = `${sftpServer(spec)} shows another key than the pinned one: ${hostKeyType(key) ?? 'a key'} ${fingerprint}. Nothing was sent. Ask whoever runs the server before you change host_key.`;
          return false;
        },
        readyTimeout: READY_MS,
        keepaliveInterval: KEEPALIVE_MS,
        keepaliveCountMax: 3,
      });
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  });
  return sessionOver(client, sftp, secrets.redactor.redact);
}

const refused = (spec: SftpSpec, { message }: ForbiddenAddress): DocketError =>
  new DocketError('deliver.target_refused', `${sftpServer(spec)} is not connected to: ${message}.`);

type Done<T> = (error: Error | null | undefined, value: T) => void;

function sessionOver(client: Client, sftp: SFTPWrapper, redact: Redact): SftpSession {
  const waiting = new Set<(error: Error) => void>();
  let gone = false;
  client.once('close', () => {
    gone = true;
    for (const fail of waiting) fail(new Error('the connection was closed'));
  });

  /** One request, with an end: a server that holds the connection and says nothing would hold the run. */
  const ask = <T>(request: (done: Done<T>) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        fail(new Error(`no answer within ${SILENCE_MS / 1000} s`));
        client.destroy();
      }, SILENCE_MS);
      const settled = (): void => {
        clearTimeout(timer);
        waiting.delete(fail);
      };
      const fail = (error: unknown): void => {
        settled();
        const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
        const said = foreignText(wordsOf(error), redact);
        reject(typeof code === 'number' ? new SftpFailure('answered', said, code) : new SftpFailure('lost', said));
      };
      waiting.add(fail);
      if (gone) return fail(new Error('the connection was closed'));
      try {
        request((error, value) => {
          if (error) return fail(error);
          settled();
          resolve(value);
        });
      } catch (error) {
        fail(error);
      }
    });
  const told = (request: (done: (error?: Error | null) => void) => void): Promise<void> =>
    ask<void>((done) => request((error) => done(error, undefined)));
  sftp.on('error', () => client.destroy());

  const open = (path: string, flags: 'r' | 'wx'): Promise<Buffer> => ask((done) => sftp.open(path, flags, done));
  const closed = (handle: Buffer): Promise<void> => told((done) => sftp.close(handle, done));

  /** Several requests under way at once; each slice has its place in the file. */
  async function writePieces(handle: Buffer, artifact: Artifact, signal: AbortSignal): Promise<void> {
    let at = 0;
    for await (const piece of artifactPieces(artifact, signal)) {
      const starts = Array.from({ length: Math.ceil(piece.length / SLICE) }, (_, index) => index * SLICE);
      const base = at;
      await Promise.all(
        starts.map((start) =>
          told((done) => sftp.write(handle, piece, start, Math.min(SLICE, piece.length - start), base + start, done)),
        ),
      );
      at += piece.length;
    }
    // A server without the extension throws at once; the file is then as durable as it makes it.
    await told((done) => sftp.ext_openssh_fsync(handle, done)).catch((error: unknown) => {
      if (error instanceof SftpFailure && error.kind === 'answered' && error.code !== UNSUPPORTED) throw error;
    });
    const { size } = await ask<Stats>((done) => sftp.fstat(handle, done));
    if (size !== artifact.bytes) {
      throw new SftpFailure('answered', `the server holds ${size} bytes of ${artifact.bytes}`);
    }
  }

  const sizeOf = async (path: string): Promise<number | undefined> => {
    try {
      return (await ask<Stats>((done) => sftp.stat(path, done))).size;
    } catch (error) {
      if (error instanceof SftpFailure && error.code === NO_SUCH_FILE) return undefined;
      throw error;
    }
  };

  return {
    size: sizeOf,
    digest: async (path) => {
      const hash = createHash('sha256');
      const handle = await open(path, 'r');
      try {
        for (let at = 0; ; ) {
          const read = await ask<Buffer>((done) => {
            const into = Buffer.allocUnsafe(SLICE);
            // At the end of the file ssh2 gives no bytes, and no error.
            sftp.read(handle, into, 0, SLICE, at, (error, bytes) => done(error, into.subarray(0, bytes)));
          });
          if (read.length === 0) return hash.digest('hex');
          hash.update(read);
          at += read.length;
        }
      } finally {
        await closed(handle).catch(() => {});
      }
    },
    list: async (folder) => {
      try {
        const entries = await ask<FileEntryWithStats[]>((done) => sftp.readdir(folder, done));
        return entries.map(({ filename, attrs }) => ({ name: filename, modified: attrs.mtime }));
      } catch (error) {
        if (error instanceof SftpFailure && error.kind === 'answered') return undefined;
        throw error;
      }
    },
    write: async (path, artifact, signal) => {
      const handle = await open(path, 'wx');
      try {
        await writePieces(handle, artifact, signal);
      } catch (error) {
        await closed(handle).catch(() => {});
        throw error;
      }
      await closed(handle);
    },
    touch: async (path) => closed(await open(path, 'wx')),
    rename: (from, to, replace) =>
      told((done) => {
        if (!replace) return sftp.rename(from, to, done);
        try {
          sftp.ext_openssh_rename(from, to, done);
        } catch {
          // Without the extension its own rename has to do; a server that keeps names refuses, and says so.
          sftp.rename(from, to, done);
        }
      }),
    remove: (path) => told((done) => sftp.unlink(path, done)),
    makeFolder: async (path) => {
      const steps = path.split('/');
      for (const [index, step] of steps.entries()) {
        const folder = steps.slice(0, index + 1).join('/');
        if (step === '' || (await sizeOf(folder)) !== undefined) continue;
        await told((done) => sftp.mkdir(folder, done)).catch(async (error: unknown) => {
          // Somebody else may have made it in between.
          if ((await sizeOf(folder)) === undefined) throw error;
        });
      }
    },
    close: () => client.end(),
  };
}
