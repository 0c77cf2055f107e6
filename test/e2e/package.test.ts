import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { version } from '../../src/base/context.ts';
import { createScope } from '../../src/base/scope.ts';
import { localRedis } from '../../src/demo/local-redis.ts';
import { createMailCatcher } from '../../src/demo/mail-catcher.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';

const run = promisify(execFile);
const LARGE = { maxBuffer: 64 * 1024 * 1024 };

const lineSchema = z.looseObject({ msg: z.string(), url: z.string().optional() });

const packedSchema = z
  .array(z.object({ filename: z.string(), unpackedSize: z.number(), files: z.array(z.object({ path: z.string() })) }))
  .length(1)
  .transform(([packed]) => packed);

/** What this checkout has besides the sources. The package must be built without it. */
const NOT_SOURCES = new Set(['.git', 'node_modules', 'dist', 'dist-modules', 'out', 'demo-out', 'coverage', 'reports']);

describe('the package', () => {
  let folder: string;
  /** The folder of an installation, with nothing of the repository above or beside it. */
  let home: string;
  let paths: string[];
  let unpackedSize: number;

  const npm = (cwd: string, ...args: string[]) => run('npm', args, { ...LARGE, cwd });
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };
  const docket = (cwd: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    run(join(home, 'node_modules/.bin/docket'), args, { ...LARGE, cwd, env: { ...env, ...more } });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-package-'));
    const source = join(folder, 'source');
    await cp('.', source, {
      recursive: true,
      filter: (path) => !NOT_SOURCES.has(relative('.', path).split(sep)[0] ?? ''),
    });
    await symlink(resolve('node_modules'), join(source, 'node_modules'));
    // A file of an earlier build, as a renamed source leaves it behind.
    await mkdir(join(source, 'dist'));
    await writeFile(join(source, 'dist', 'of-yesterday.js'), '');
    const { stdout } = await npm(source, 'pack', '--json', '--pack-destination', folder);
    const packed = packedSchema.parse(JSON.parse(stdout.slice(stdout.indexOf('[\n'))));
    if (packed === undefined) throw new Error('nothing was packed');
    paths = packed.files.map(({ path }) => path);
    unpackedSize = packed.unpackedSize;
    home = join(folder, 'home');
    await mkdir(home);
    await writeFile(join(home, 'package.json'), '{"private":true}');
    await npm(home, 'install', '--no-audit', '--no-fund', join(folder, packed.filename));
    await rm(source, { recursive: true });
  }, 1_800_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('contains the program, definitions, templates and documents, and no files of earlier builds', async () => {
    expect([...new Set(paths.map((path) => path.split('/')[0]))].sort()).toEqual([
      ...['CHANGELOG.md', 'LICENSE', 'README.md', 'deploy', 'dist', 'docs', 'jobs', 'package.json', 'templates'],
    ]);
    expect(paths).not.toContain('dist/of-yesterday.js');
    expect(paths).toEqual(
      expect.arrayContaining([
        ...['dist/main.js', 'dist/fetch/rate-limit/budget-10.lua', 'dist/render/formats/pdf/typst/typst-child.mjs'],
        ...['jobs/demo/org.yaml', 'templates/pack/pack.typ'],
      ]),
    );
    expect(
      paths.filter(
        (path) =>
          !/\.(m?js|js\.map|d\.ts|lua|css|svg|json|yaml|png|mjml|liquid|typ|md|xlsx|env)$|^LICENSE$|^deploy\//.test(
            path,
          ),
      ),
    ).toEqual([]);
    // Every page that the program mentions is in the package.
    for (const path of paths.filter((name) => name.endsWith('.js'))) {
      const text = await readFile(join(home, 'node_modules/docket', path), 'utf8');
      expect(paths).toEqual(expect.arrayContaining(text.match(/\bdocs\/[\w/-]+\.md\b/g) ?? []));
    }
    // Most dependencies are bundled. A package that is bundled by mistake, or pictures, would add more than is left here.
    expect(unpackedSize).toBeLessThan(10_100_000);
  });

  test('installs no development or bundled dependency, and works without our overrides', async () => {
    const installed = await readdir(join(home, 'node_modules'));
    for (const name of ['typescript', 'vitest', 'playwright-core', '@bull-board', 'bullmq', 'echarts'])
      expect(installed).not.toContain(name);
    // Fails if a version is not one that its dependents accept.
    await npm(home, 'ls', '--all');
  });

  test('runs the demo in an empty folder', async () => {
    const empty = join(folder, 'empty');
    await mkdir(empty);
    expect((await docket(empty, ['--version'])).stdout.trim()).toBe(version());
    expect((await docket(empty, ['--help'])).stdout).toContain('Usage: docket');
    await docket(empty, ['demo']);
    const made = await readdir(join(empty, 'demo-out'), { recursive: true });
    expect(made.filter((name) => name.endsWith('.xlsx')).length).toBeGreaterThanOrEqual(2);
    expect(made.filter((name) => name.endsWith('.eml')).length).toBeGreaterThanOrEqual(2);
    expect(await readdir(empty)).toEqual(['demo-out']);
  });

  test('is a library with types: verifies webhooks, checks definitions, and has the schemas', async () => {
    const user = join(home, 'user.ts');
    await writeFile(
      user,
      `import { checkDefinitions, type CheckResult } from 'docket/check';
import { verifyWebhook, WebhookError } from 'docket/webhook';
import report from 'docket/report.schema.json' with { type: 'json' };
const result: CheckResult = await checkDefinitions(process.argv[2] ?? '');
let code = '';
try {
  verifyWebhook({}, '', 'whsec_AAAA');
} catch (thrown) {
  if (thrown instanceof WebhookError) code = thrown.code;
}
console.log(JSON.stringify([result.errors.map(({ file, line }) => [file, line]), code, typeof report]));
`,
    );
    await writeFile(
      join(home, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          ...{ module: 'nodenext', target: 'es2023', lib: ['es2023'], strict: true, skipLibCheck: false, noEmit: true },
          ...{ resolveJsonModule: true, types: ['node'], typeRoots: [resolve('node_modules/@types')] },
        },
        files: ['user.ts'],
      }),
    );
    await writeFile(join(home, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    await run(resolve('node_modules/.bin/tsc'), ['-p', home]);
    const jobs = join(folder, 'wrong');
    await mkdir(join(jobs, 'acme'), { recursive: true });
    await writeFile(join(jobs, 'acme', 'org.yaml'), 'version: 1\nname: 7\n');
    const { stdout } = await run(resolve('node_modules/.bin/tsx'), [user, jobs], { cwd: home, env });
    const [errors, code, schema] = JSON.parse(stdout);
    expect(errors).toContainEqual([join(jobs, 'acme', 'org.yaml'), 2]);
    expect([code, schema]).toEqual(['header.missing', 'object']);
  });

  test('writes, checks and delivers a first report, and starts and stops', async () => {
    const desk = join(folder, 'desk');
    await mkdir(desk);
    const scope = createScope();
    try {
      const redis = scope.use(await localRedis(env, undefined, ['--appendonly', 'yes']), (opened) => opened.close());
      const sandbox = scope.use(await startSandbox(), (opened) => opened.close());
      const mail = scope.use(await createMailCatcher(join(folder, 'mailbox')), (opened) => opened.close());
      const around = {
        COMPLIANCE_API_URL: sandbox.url,
        ACME_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
        REDIS_URL: redis.url,
        SMTP_URL: mail.url,
        MAIL_FROM: 'reports@acme.example',
        DOCKET_ADMIN_PORT: '0',
      };
      const answers = ['--key-env', 'ACME_API_KEY', '--to', 'you@acme.example', '--report', 'weekly', '--yes'];
      await docket(desk, ['init', ...answers, '--timezone', 'Europe/Zurich'], around);
      // Throws unless the exit code is 0.
      await docket(desk, ['check'], around);
      await docket(desk, ['run', 'acme-payments/weekly-kpi'], around);
      expect(mail.messages().map(({ to }) => to)).toEqual([['you@acme.example']]);

      const started = spawn(join(home, 'node_modules/.bin/docket'), ['start'], {
        cwd: desk,
        env: { ...env, ...around },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const ended = once(started, 'exit');
      let address: string | undefined;
      for await (const line of createInterface({ input: started.stderr })) {
        const { msg, url } = lineSchema.parse(JSON.parse(line));
        if (msg !== 'Docket runs') continue;
        address = url;
        break;
      }
      started.stderr.resume();
      expect((await fetch(`${address}/healthz`)).status).toBe(200);
      started.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    } finally {
      await scope.close();
    }
  });
});
