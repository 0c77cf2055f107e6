import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const packageSchema = z.looseObject({
  version: z.string(),
  engines: z.object({ node: z.string() }),
  scripts: z.record(z.string(), z.string()),
});
const packageJson = async () => packageSchema.parse(JSON.parse(await readFile('package.json', 'utf8')));
const text = (path: string) => readFile(path, 'utf8');

const workflowSchema = z.looseObject({
  jobs: z.record(
    z.string(),
    z.looseObject({
      strategy: z.looseObject({ matrix: z.object({ node: z.array(z.number()) }) }),
      steps: z.array(z.looseObject({ run: z.string().optional() })),
    }),
  ),
});
const formSchema = z.looseObject({
  name: z.string(),
  description: z.string(),
  body: z.array(z.looseObject({ type: z.enum(['markdown', 'input', 'textarea']), id: z.string().optional() })).min(1),
});

describe('the project', () => {
  test('names only npm scripts that exist', async () => {
    const { scripts } = await packageJson();
    const docs = (await readdir('docs', { recursive: true })).filter((name) => name.endsWith('.md'));
    const pages = ['README.md', 'CONTRIBUTING.md', 'AGENTS.md', ...docs.map((name) => `docs/${name}`)];
    const missing: string[] = [];
    for (const page of pages)
      for (const [, name = ''] of (await text(page)).matchAll(/\bnpm run (?:--?\w+ )*([\w:-]+)/g))
        if (!(name in scripts)) missing.push(`${page}: ${name}`);
    expect(missing).toEqual([]);
  });

  test('names only metrics and alerts that exist', async () => {
    const [metrics, alerts] = [await text('docs/reference/metrics.md'), await text('docs/observability/alerts.yaml')];
    const docs = (await readdir('docs', { recursive: true })).filter((name) => name.endsWith('.md'));
    const unknown: string[] = [];
    for (const page of docs.map((name) => `docs/${name}`))
      for (const [name] of (await text(page)).matchAll(/\bdocket_[a-z]\w*|\bDocket(?!Error)[A-Z][a-z]\w+/g))
        if (!metrics.includes(name) && !alerts.includes(name)) unknown.push(`${page}: ${name}`);
    expect(unknown).toEqual([]);
  });

  test('runs `.ci/run` in CI on every supported Node.js', async () => {
    const { engines } = await packageJson();
    const { jobs } = workflowSchema.parse(parse(await text('.github/workflows/ci.yml')));
    const [job] = Object.values(jobs);
    expect(job?.steps.map(({ run }) => run)).toContain('bash .ci/run');
    const versions = job?.strategy.matrix.node ?? [];
    expect(engines.node).toMatch(new RegExp(`^>=${Math.min(...versions)}\\.`));
    expect(versions).toContain(Number((await text('.nvmrc')).trim()));
    const supported = [...(await text('CONTRIBUTING.md')).matchAll(/^\| (\d+)/gm)].map(([, major]) => Number(major));
    expect(supported).toEqual(versions);
  });

  test('has a dated CHANGELOG section for its version, which SECURITY lists as supported', async () => {
    const { version } = await packageJson();
    expect(await text('CHANGELOG.md')).toContain(`\n## [${version}] - 20`);
    expect(await text('SECURITY.md')).toContain(`| ${version.replace(/\.\d+$/, '.x')} | yes |`);
  });

  test.each(['bug', 'feature'])('has a valid form for issues: %s', async (name) => {
    const { body } = formSchema.parse(parse(await text(`.github/ISSUE_TEMPLATE/${name}.yml`)));
    const ids = body.flatMap(({ id }) => id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
