// The packages that npm installs beside an installed Docket. All others are in `dist/`; docs/internals/build.md
// explains why.
//
//   node build/installed.mjs small      reduces package.json to what an installed Docket needs (prepack, Dockerfile)
//   node build/installed.mjs restore    restores the full package.json (postpack)
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PROJECT = join(import.meta.dirname, '..');
const MANIFEST = join(PROJECT, 'package.json');
/** The full manifest, while the small one replaces it. */
const FULL = join(PROJECT, 'build/out/package.json');

/** The `dependencies` that are not bundled. */
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
/** Peer dependencies, which an installed Docket uses if they are there. */
const OPTIONAL = ['@bull-board/api', '@bull-board/hono'];

/** Whether the bundle keeps the import of a module unchanged. */
export const isInstalled = (id) => [...BESIDE, ...OPTIONAL].some((name) => id === name || id.startsWith(`${name}/`));

/**
 * The addresses of the repository in which the release workflow runs. Registries accept a package with provenance only
 * if it names that repository.
 */
function repositoryOf({ GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name }) {
  if (!server || !name) return {};
  const url = `${server}/${name}`;
  return {
    homepage: `${url}#readme`,
    bugs: { url: `${url}/issues` },
    repository: { type: 'git', url: `git+${url}.git` },
  };
}

/** The manifest of an installed Docket, without overrides and development dependencies, which have no effect there. */
function smallManifest({ dependencies, devDependencies, overrides, allowScripts, ...rest }) {
  return {
    ...rest,
    ...repositoryOf(process.env),
    dependencies: Object.fromEntries(BESIDE.map((name) => [name, dependencies[name]])),
  };
}

const restore = () => existsSync(FULL) && renameSync(FULL, MANIFEST);

if (process.argv[1] === import.meta.filename) {
  // Also before making a small one: an interrupted `npm pack` leaves a small manifest behind.
  restore();
  if (process.argv[2] === 'small') {
    const full = readFileSync(MANIFEST, 'utf8');
    mkdirSync(join(FULL, '..'), { recursive: true });
    writeFileSync(FULL, full);
    writeFileSync(MANIFEST, `${JSON.stringify(smallManifest(JSON.parse(full)), null, 2)}\n`);
  }
}
