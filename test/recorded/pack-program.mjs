// Packs the program that `npm run build` made, so that tests of rolling upgrades can start it once it is the version before:
//   node test/recorded/pack-program.mjs test/recorded/0.2.0/program.tar.br
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

const [, , path] = process.argv;
if (path === undefined) throw new Error('Say where: node test/recorded/pack-program.mjs PATH');
const order = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
const tar = execFileSync('tar', ['c', ...order, '--exclude=*.map', 'dist', 'templates', 'package.json'], {
  maxBuffer: 64 * 1024 * 1024,
});
const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants;
mkdirSync(dirname(path), { recursive: true });
writeFileSync(
  path,
  brotliCompressSync(tar, { params: { [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_SIZE_HINT]: tar.length } }),
);
