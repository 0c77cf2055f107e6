import { type AddressInfo, createServer, type Socket } from 'node:net';
import ssh2, { type SFTPWrapper } from 'ssh2';
import { computeFingerprint } from '../../src/deliver/targets/sftp/host-key.ts';

export type SftpStep = 'open' | 'write' | 'read' | 'close' | 'stat' | 'list' | 'rename' | 'remove' | 'mkdir';

/** A fault in place of a response, `before` or `after` the request is carried out. */
export interface SftpFault {
  readonly when: 'before' | 'after';
  readonly how: 'reset' | 'close' | 'denied' | 'failure' | { readonly say: string };
}

export interface SftpServer {
  readonly port: number;
  /** In the form `SHA256:…`. */
  readonly fingerprint: string;
  /** A line of known_hosts. */
  readonly hostKey: string;
  /** The files by full path. */
  readonly files: Map<string, { bytes: Buffer; modified: number }>;
  readonly folders: Set<string>;
  readonly steps: (readonly [SftpStep, string])[];
  /** Called for each request. Undefined means no fault. */
  fault: (step: SftpStep, path: string) => SftpFault | undefined;
  /** The number of accepted connections. */
  logins(): number;
  close(): Promise<void>;
}

export const SFTP_USER = 'docket';
export const SFTP_PASSWORD = 'correct horse battery staple';

const { STATUS_CODE, OPEN_MODE } = ssh2.utils.sftp;
/** One pair for all tests of a file, since creating keys takes longer than serving. */
const KEYS = ssh2.utils.generateKeyPairSync('ed25519');

/** An SFTP server (version 3, without extensions) in memory that breaks on demand. */
export async function sftpServer(
  options: { readonly onlyKeyboard?: boolean; readonly userKey?: string } = {},
): Promise<SftpServer> {
  const steps: SftpServer['steps'] = [];
  let logins = 0;
  const sockets = new Set<Socket>();
  const parsed = ssh2.utils.parseKey(KEYS.public);
  if (parsed instanceof Error) throw parsed;
  const publicKey = parsed.getPublicSSH();
  const state = {
    port: 0,
    fingerprint: computeFingerprint(publicKey),
    hostKey: `sftp.example ${KEYS.public.split(' ').slice(0, 2).join(' ')}`,
    files: new Map(),
    folders: new Set(['in']),
    steps,
    fault: () => undefined,
    logins: () => logins,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => tcp.close(() => resolve()));
    },
  } as SftpServer;

  const server = new ssh2.Server({ hostKeys: [KEYS.private] }, (client) => {
    client.on('error', () => {});
    client.on('authentication', (context) => {
      if (context.username !== SFTP_USER) return context.reject(['password', 'publickey']);
      if (context.method === 'publickey' && options.userKey !== undefined) {
        const key = ssh2.utils.parseKey(options.userKey);
        if (!(key instanceof Error) && key.getPublicSSH().equals(context.key.data)) return context.accept();
      }
      if (context.method === 'password' && options.onlyKeyboard !== true && context.password === SFTP_PASSWORD)
        return context.accept();
      if (context.method === 'keyboard-interactive' && options.onlyKeyboard === true) {
        return context.prompt([{ prompt: 'Password: ', echo: false }], (answers) =>
          answers[0] === SFTP_PASSWORD ? context.accept() : context.reject(),
        );
      }
      context.reject(options.onlyKeyboard ? ['keyboard-interactive'] : ['password', 'publickey']);
    });
    client.on('ready', () => {
      logins += 1;
      client.on('session', (accept) => accept().on('sftp', (acceptSftp) => serve(acceptSftp())));
    });
  });

  function serve(sftp: SFTPWrapper): void {
    const handles = new Map<number, { path: string; listed?: boolean }>();
    let next = 0;
    const opened = (path: string): Buffer => {
      const handle = Buffer.alloc(4);
      handle.writeUInt32BE(next);
      handles.set(next++, { path });
      return handle;
    };
    const of = (handle: Buffer) => handles.get(handle.readUInt32BE(0))!;
    /** Carries out a step unless there is a fault. */
    const step = (name: SftpStep, path: string, id: number, work: () => void): void => {
      steps.push([name, path]);
      const fault = state.fault(name, path);
      if (fault === undefined) {
        work();
        return;
      }
      if (fault.when === 'after') {
        // Drop the response, so that only the effect stays.
        const { status, handle, attrs } = sftp;
        Object.assign(sftp, { status: () => {}, handle: () => {}, attrs: () => {} });
        work();
        Object.assign(sftp, { status, handle, attrs });
      }
      if (fault.how === 'denied') return void sftp.status(id, STATUS_CODE.PERMISSION_DENIED);
      if (fault.how === 'failure') return void sftp.status(id, STATUS_CODE.FAILURE);
      if (typeof fault.how === 'object') return void sftp.status(id, STATUS_CODE.FAILURE, fault.how.say);
      for (const socket of sockets) fault.how === 'reset' ? socket.resetAndDestroy() : socket.end();
    };
    const attrsOf = (path: string) => {
      const file = state.files.get(path);
      if (file !== undefined)
        return { mode: 0o100644, uid: 0, gid: 0, size: file.bytes.length, atime: file.modified, mtime: file.modified };
      return state.folders.has(path) ? { mode: 0o040755, uid: 0, gid: 0, size: 0, atime: 0, mtime: 0 } : undefined;
    };
    const stat = (id: number, path: string): void =>
      step('stat', path, id, () => {
        const attrs = attrsOf(path);
        if (attrs === undefined) sftp.status(id, STATUS_CODE.NO_SUCH_FILE);
        else sftp.attrs(id, attrs);
      });
    const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/');

    sftp.on('OPEN', (id: number, path: string, flags: number) =>
      step('open', path, id, () => {
        const exists = state.files.has(path);
        if (flags & OPEN_MODE.WRITE) {
          if (!state.folders.has(folderOf(path))) return sftp.status(id, STATUS_CODE.NO_SUCH_FILE);
          if (flags & OPEN_MODE.EXCL && exists) return sftp.status(id, STATUS_CODE.FAILURE);
          state.files.set(path, { bytes: Buffer.alloc(0), modified: Math.floor(Date.now() / 1000) });
        } else if (!exists) return sftp.status(id, STATUS_CODE.NO_SUCH_FILE);
        sftp.handle(id, opened(path));
      }),
    );
    sftp.on('WRITE', (id: number, handle: Buffer, at: number, data: Buffer) =>
      step('write', of(handle).path, id, () => {
        const file = state.files.get(of(handle).path);
        if (file === undefined) return sftp.status(id, STATUS_CODE.FAILURE);
        const bytes = Buffer.alloc(Math.max(file.bytes.length, at + data.length));
        file.bytes.copy(bytes);
        data.copy(bytes, at);
        file.bytes = bytes;
        sftp.status(id, STATUS_CODE.OK);
      }),
    );
    sftp.on('READ', (id: number, handle: Buffer, at: number, length: number) =>
      step('read', of(handle).path, id, () => {
        const bytes = state.files.get(of(handle).path)?.bytes.subarray(at, at + length) ?? Buffer.alloc(0);
        if (bytes.length === 0) sftp.status(id, STATUS_CODE.EOF);
        else sftp.data(id, bytes);
      }),
    );
    sftp.on('CLOSE', (id: number, handle: Buffer) =>
      step('close', of(handle).path, id, () => sftp.status(id, STATUS_CODE.OK)),
    );
    sftp.on('STAT', stat);
    sftp.on('LSTAT', stat);
    sftp.on('FSTAT', (id: number, handle: Buffer) => stat(id, of(handle).path));
    sftp.on('OPENDIR', (id: number, path: string) => step('list', path, id, () => sftp.handle(id, opened(path))));
    sftp.on('READDIR', (id: number, handle: Buffer) => {
      const folder = of(handle);
      if (folder.listed) return sftp.status(id, STATUS_CODE.EOF);
      folder.listed = true;
      const names = [...state.files.keys()].filter((path) => folderOf(path) === folder.path);
      if (names.length === 0) return sftp.status(id, STATUS_CODE.EOF);
      sftp.name(
        id,
        names.map((path) => ({ filename: path.split('/').at(-1)!, longname: path, attrs: attrsOf(path)! })),
      );
    });
    sftp.on('REMOVE', (id: number, path: string) =>
      step('remove', path, id, () =>
        sftp.status(id, state.files.delete(path) ? STATUS_CODE.OK : STATUS_CODE.NO_SUCH_FILE),
      ),
    );
    sftp.on('RENAME', (id: number, from: string, to: string) =>
      step('rename', to, id, () => {
        const file = state.files.get(from);
        if (file === undefined) return sftp.status(id, STATUS_CODE.NO_SUCH_FILE);
        if (state.files.has(to)) return sftp.status(id, STATUS_CODE.FAILURE);
        state.files.delete(from);
        state.files.set(to, file);
        sftp.status(id, STATUS_CODE.OK);
      }),
    );
    sftp.on('MKDIR', (id: number, path: string) =>
      step('mkdir', path, id, () => {
        if (folderOf(path) !== '' && !state.folders.has(folderOf(path)))
          return sftp.status(id, STATUS_CODE.NO_SUCH_FILE);
        state.folders.add(path);
        sftp.status(id, STATUS_CODE.OK);
      }),
    );
  }

  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    server.injectSocket(socket);
  });
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  return Object.assign(state, { port: (tcp.address() as AddressInfo).port });
}
