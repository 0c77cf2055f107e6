import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DocketError, isStorageOutage } from '../../src/base/error.ts';
import { checkPackTemplates } from '../../src/render/formats/pdf/check-templates.ts';
import type { TypstLimits } from '../../src/render/formats/pdf/typst/typst-compiler.ts';
import { processUsage } from '../../src/render/formats/pdf/typst/typst-compiler.ts';
import { writePdf } from '../../src/render/formats/pdf/write-pdf.ts';
import { dataset, MADE_AT, onboarding } from '../support/dataset.ts';
import { program } from '../support/debian.ts';

const run = promisify(execFile);
const RUN = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT, signal: new AbortController().signal };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-pdf-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function withTemplate(source: string): Promise<string> {
  const templates = await mkdtemp(join(folder, 'templates-'));
  await mkdir(join(templates, 'pack'));
  await writeFile(join(templates, 'pack', 'pack.typ'), source);
  return templates;
}

const failure = async (limits: TypstLimits, templates?: string): Promise<DocketError> => {
  const thrown = await writePdf(join(folder, 'never.pdf'), dataset([onboarding]), { ...RUN, templates, limits }).catch(
    (error: unknown) => error,
  );
  if (!(thrown instanceof DocketError)) throw new Error('expected an error', { cause: thrown });
  return thrown;
};

describe('a package in a template', () => {
  test.each([
    ['by its name', '#import "@preview/cetz:0.3.0": canvas'],
    ['by a computed name', '#import ("@" + "preview/cetz:0.3.0"): canvas'],
    ['from another namespace', '#import "@local/own:1.0.0": *'],
  ])('that is imported %s is an error at its line, without network access', async (_, source) => {
    const templates = await withTemplate(`#set document(title: "x")\n${source}`);
    const module = new URL('../../dist-modules/render/formats/pdf/check-templates.js', import.meta.url).href;
    const script = join(templates, 'check.mjs');
    await writeFile(
      script,
      `import { checkPackTemplates } from ${JSON.stringify(module)};
      console.log(JSON.stringify(await checkPackTemplates(${JSON.stringify(templates)})));`,
    );
    const trace = join(templates, 'trace');
    const { stdout } = await run(await program('strace', 'strace'), [
      ...['-f', '-qq', '-e', 'trace=connect', '-o', trace],
      ...[process.execPath, script],
    ]);
    expect(JSON.parse(stdout)).toMatchObject([{ file: join(templates, 'pack', 'pack.typ'), line: 2 }]);
    expect((await readFile(trace, 'utf8')).split('\n').filter((line) => line.includes('AF_INET'))).toEqual([]);
  });
});

describe('the time limit of a PDF', () => {
  test('counts the processor time of the process', async () => {
    const before = await processUsage(process.pid);
    const { user, system } = process.cpuUsage();
    const after = await processUsage(process.pid);
    const own = (user + system) / 1000;
    // The system counts user and system time in ticks of 10 ms each.
    expect(before?.cpuMs).toBeLessThanOrEqual(own + 20);
    expect(after?.cpuMs).toBeGreaterThanOrEqual(own - 20);
    expect(after?.memoryMb).toBeGreaterThan(10);
  });

  test('is retryable when it is exceeded, and the error names the size of the report and the load', async () => {
    const error = await failure({ deadlineMs: 1 });
    expect(error).toMatchObject({ code: 'render.failed', retryable: true });
    expect(error.got).toMatch(/1 section, \d+ cells, 0 comments; [\d.]+ processes .* \d+ processors/);
    expect(error.next).not.toMatch(/defect/);
    expect(isStorageOutage(error)).toBe(false);
  });

  test('is a retryable outage if the machine is too busy, even with a custom template', async () => {
    for (const templates of [undefined, await withTemplate('#set document(title: "x")\nOwn')]) {
      const error = await failure({ wallMs: 1 }, templates);
      expect(error).toMatchObject({ code: 'render.failed', retryable: true });
      expect(isStorageOutage(error)).toBe(true);
      expect(error.got).toMatch(/processes/);
    }
    const [found] = await checkPackTemplates(await withTemplate('Own'), undefined, { wallMs: 1 });
    expect(found?.got).toMatch(/busy/);
  });

  test('makes a custom template invalid if it needs too much time', async () => {
    const templates = await withTemplate('#for i in range(9000) { for j in range(9000) { calc.rem(i * j, 7) } }');
    const error = await failure({ deadlineMs: 500 }, templates);
    expect(error).toMatchObject({ code: 'template.invalid', retryable: false });
  });
});
