import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { builtMain } from '../support/built-main.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));

/** The version before, as it was packed beside its recording, or this one. */
export type Version = '0.2.0' | 'this';

/** Of the packed programs: a test of roll-back is worth nothing if somebody packs another build under the same name. */
const SHA256: Readonly<Record<Exclude<Version, 'this'>, string>> = {
  '0.2.0': '428d8ba84f2f0afede6be2878a9f388279b5b5dcf9080a4bd28e33727dcf77f8',
};

/** Path of a version's `main.js`. A packed one is unpacked below `node_modules`, where it finds its dependencies. */
export async function programOf(version: Version): Promise<string> {
  if (version === 'this') return builtMain();
  const cache = join(PROJECT, 'node_modules', '.cache');
  const folder = join(cache, `docket-${version}-${SHA256[version].slice(0, 8)}`);
  if (!existsSync(folder)) {
    const packed = await readFile(join(PROJECT, 'test', 'recorded', version, 'program.tar.br'));
    const sha256 = createHash('sha256').update(packed).digest('hex');
    if (sha256 !== SHA256[version]) throw new Error(`program.tar.br of ${version} has SHA-256 ${sha256}`);
    await mkdir(cache, { recursive: true });
    const made = await mkdtemp(join(cache, 'unpacking-'));
    execFileSync('tar', ['x', '-C', made], { input: brotliDecompressSync(packed) });
    await rename(made, folder).catch((error: unknown) => {
      // Another test has unpacked it meanwhile.
      if (!existsSync(folder)) throw error;
    });
  }
  return join(folder, 'dist', 'main.js');
}
