/**
 * Puts faults of a disk between this process and the file system, in its threads as well. A test imports it, or a child
 * process preloads it (`node --import <this file>`). The variable `DISK_FAULTS_FILE` names a control file, which is read at
 * each call that writes. Its lines are
 *
 *     ENOSPC <folder>    the disk is full: names can be made, bytes cannot be written (a write keeps the half that fits)
 *     EROFS <folder>     the disk is read-only: nothing can be made, written, renamed or removed
 *
 * and hold for everything below the folder. Any other code of an error (`EIO`, `EDQUOT`) acts as `ENOSPC` does. No file, or
 * an empty one: no fault.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

const NAME = 'DISK_FAULTS_FILE';
// A thread may have no environment variables.
setEnvironmentData(NAME, process.env[NAME] ?? getEnvironmentData(NAME));

const { readFileSync } = fs;
const files = new Map();
const INSTALLED = Symbol.for('docket.disk-faults');

const pathOf = (path) => {
  if (typeof path === 'number') return files.get(path);
  const text = path instanceof URL ? fileURLToPath(path) : Buffer.isBuffer(path) ? path.toString() : path;
  return typeof text === 'string' ? resolve(text) : undefined;
};

function faultAt(path) {
  const control = process.env[NAME] ?? getEnvironmentData(NAME);
  if (path === undefined || control === undefined || control === '') return undefined;
  let lines;
  try {
    lines = readFileSync(control, 'utf8').split('\n');
  } catch {
    return undefined;
  }
  for (const line of lines) {
    const [, code, folder] = /^(E[A-Z]+) (.+)$/.exec(line.trim()) ?? [];
    if (code === undefined) continue;
    const below = resolve(folder);
    if (path === below || path.startsWith(below + sep)) return code;
  }
  return undefined;
}

const WORDS = { ENOSPC: 'no space left on device', EROFS: 'read-only file system', EIO: 'i/o error' };
const errorOf = (code, syscall, path) => {
  const words = WORDS[code] ?? 'the disk has a fault';
  const named = syscall === 'write' ? '' : ` '${path}'`;
  return Object.assign(new Error(`${code}: ${words}, ${syscall}${named}`), {
    code,
    syscall,
    errno: -1,
    ...(syscall === 'write' ? {} : { path }),
  });
};

/** The fault of a call that changes names. A full disk still allows that. */
const ofName = (syscall, ...paths) => {
  for (const path of paths.map(pathOf)) if (faultAt(path) === 'EROFS') return errorOf('EROFS', syscall, path);
  return undefined;
};
/** The fault of a call that writes bytes. */
const ofBytes = (path, syscall = 'write') => {
  const at = pathOf(path);
  const code = faultAt(at);
  return code === undefined ? undefined : errorOf(code, syscall, at);
};

const writes = (flags) => (typeof flags === 'number' ? (flags & 3) !== 0 : /[wa+]/.test(String(flags ?? 'r')));
const half = (data) =>
  typeof data === 'string' ? data.slice(0, data.length >> 1) : data.subarray?.(0, data.length >> 1);

/** For each call that changes names, a function that gives its fault. */
const NAMES = {
  mkdir: (path) => ofName('mkdir', path),
  mkdtemp: (path) => ofName('mkdtemp', path),
  rename: (from, to) => ofName('rename', from, to),
  link: (_, to) => ofName('link', to),
  symlink: (_, to) => ofName('symlink', to),
  unlink: (path) => ofName('unlink', path),
  rmdir: (path) => ofName('rmdir', path),
  // `force` ignores missing files, but not a disk that rejects writes.
  rm: (path) => (fs.existsSync(pathOf(path) ?? '') ? ofName('rm', path) : undefined),
  chmod: (path) => ofName('chmod', path),
  utimes: (path) => ofName('utimes', path),
  truncate: (path) => ofName('open', path),
  copyFile: (_, to) => ofName('copyfile', to) ?? ofBytes(to, 'copyfile'),
  cp: (_, to) => ofName('cp', to) ?? ofBytes(to, 'copyfile'),
  open: (path, flags) => (writes(flags) ? ofName('open', path) : undefined),
};

function patch(owner, name, make) {
  const real = owner[name];
  if (typeof real === 'function') owner[name] = make(real);
}

function patchHandles(prototype) {
  for (const name of ['write', 'writev', 'writeFile', 'appendFile', 'truncate']) {
    patch(
      prototype,
      name,
      (real) =>
        async function (data, ...rest) {
          const fault = ofBytes(this.fd);
          if (fault === undefined) return real.call(this, data, ...rest);
          const kept = name === 'write' || name === 'writeFile' ? half(data) : undefined;
          if (kept !== undefined && kept.length > 0 && fault.code === 'ENOSPC') await real.call(this, kept);
          throw fault;
        },
    );
  }
  patch(
    prototype,
    'close',
    (real) =>
      function () {
        files.delete(this.fd);
        return real.call(this);
      },
  );
}

function install() {
  let handles = false;
  for (const [name, faultOf] of Object.entries(NAMES)) {
    patch(fs, name, (real) => (...args) => {
      const done = args.at(-1);
      const fault = faultOf(...args);
      if (fault !== undefined && typeof done === 'function') return void process.nextTick(done, fault);
      if (name !== 'open' || typeof done !== 'function') return real(...args);
      return real(...args.slice(0, -1), (error, fd) => {
        if (error === null) files.set(fd, pathOf(args[0]));
        done(error, fd);
      });
    });
    patch(fs, `${name}Sync`, (real) => (...args) => {
      const fault = faultOf(...args);
      if (fault !== undefined) throw fault;
      const answer = real(...args);
      if (name === 'open') files.set(answer, pathOf(args[0]));
      return answer;
    });
    patch(fs.promises, name, (real) => async (...args) => {
      const fault = faultOf(...args);
      if (fault !== undefined) throw fault;
      const answer = await real(...args);
      if (name !== 'open') return answer;
      files.set(answer.fd, pathOf(args[0]));
      if (!handles) {
        handles = true;
        patchHandles(Object.getPrototypeOf(answer));
      }
      return answer;
    });
  }
  for (const name of ['writeFile', 'appendFile']) {
    const faultOf = (path) => ofName('open', path) ?? ofBytes(path);
    patch(fs.promises, name, (real) => async (path, ...rest) => {
      // A file handle has its own method.
      if (typeof path === 'object' && 'fd' in path) return path[name](...rest);
      const fault = faultOf(path);
      if (fault === undefined) return real(path, ...rest);
      if (fault.code === 'ENOSPC') await real(path, half(rest[0]) ?? '', rest[1]);
      throw fault;
    });
    patch(fs, `${name}Sync`, (real) => (path, ...rest) => {
      const fault = faultOf(path);
      if (fault !== undefined) throw fault;
      return real(path, ...rest);
    });
    patch(fs, name, (real) => (path, ...rest) => {
      const fault = faultOf(path);
      if (fault === undefined) return real(path, ...rest);
      process.nextTick(rest.at(-1), fault);
    });
  }
  for (const name of ['write', 'writev']) {
    patch(fs, name, (real) => (fd, ...rest) => {
      const fault = ofBytes(fd);
      if (fault === undefined) return real(fd, ...rest);
      process.nextTick(rest.at(-1), fault);
    });
    patch(fs, `${name}Sync`, (real) => (fd, ...rest) => {
      const fault = ofBytes(fd);
      if (fault !== undefined) throw fault;
      return real(fd, ...rest);
    });
  }
  patch(fs, 'close', (real) => (fd, ...rest) => {
    files.delete(fd);
    return real(fd, ...rest);
  });
  patch(fs, 'closeSync', (real) => (fd) => {
    files.delete(fd);
    return real(fd);
  });
  syncBuiltinESMExports();
}

// Install once per process and thread, however often the module is imported.
if (globalThis[INSTALLED] !== true) {
  globalThis[INSTALLED] = true;
  install();
}
