// What npm installs beside an installed Docket. All other packages are in `dist/`; docs/internals/build.md gives the reasons.
//
//   node build/installed.mjs small      leaves in package.json what an installed Docket needs (prepack, Dockerfile)
//   node build/installed.mjs restore    puts the full package.json back (postpack)
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PROJECT = join(import.meta.dirname, '..');
const MANIFEST = join(PROJECT, 'package.json');
/** The full one, while the small one is in its place. */
const FULL = join(PROJECT, 'build/out/package.json');

/** Of `dependencies`, those that are not bundled. */
const BESIDE = [
  '@aws-sdk/client-s3',
  '@aws-sdk/lib-storage',
  '@aws-sdk/s3-request-presigner',
  '@expo-google-fonts/arimo',
  '@expo-google-fonts/noto-sans-arabic',
  '@myriaddreamin/typst-ts-node-compiler',
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-node',
  '@resvg/resvg-wasm',
  'date-holidays',
  'mrml',
  'officecrypto-tool',
  'piscina',
  'ssh2',
];
/** Peers, which an installed Docket takes if they are there. */
const OPTIONAL = ['@bull-board/api', '@bull-board/hono'];

/** Whether the bundle leaves the import of a module as it is. */
export const isInstalled = (id) => [...BESIDE, ...OPTIONAL].some((name) => id === name || id.startsWith(`${name}/`));

/** The manifest of an installed Docket: our overrides and development dependencies mean nothing there. */
function smallManifest({ dependencies, devDependencies, overrides, allowScripts, ...rest }) {
  return { ...rest, dependencies: Object.fromEntries(BESIDE.map((name) => [name, dependencies[name]])) };
}

const restore = () => existsSync(FULL) && renameSync(FULL, MANIFEST);

if (process.argv[1] === import.meta.filename) {
  // Also before making a small one: what an interrupted `npm pack` has left is not the full one.
  restore();
  if (process.argv[2] === 'small') {
    const full = readFileSync(MANIFEST, 'utf8');
    mkdirSync(join(FULL, '..'), { recursive: true });
    writeFileSync(FULL, full);
    writeFileSync(MANIFEST, `${JSON.stringify(smallManifest(JSON.parse(full)), null, 2)}\n`);
  }
}
