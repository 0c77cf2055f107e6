import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { writePdf } from '../../src/render/formats/pdf/write-pdf.ts';
import { dataset, MADE_AT, onboarding, workload } from '../support/dataset.ts';
import { program } from '../support/debian.ts';
import { approval, commented, correction, HOSTILE } from '../support/reviewed-dataset.ts';

const run = promisify(execFile);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-review-pdf-'));
  await program('pdftotext', 'poppler-utils');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The lines of text of a PDF. */
async function textOf(name: string, data: Dataset): Promise<readonly string[]> {
  const path = join(folder, `${name}.pdf`);
  const options = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT, outputs: ['pdf'] };
  await writePdf(path, data, { ...options, signal: new AbortController().signal });
  const { stdout } = await run('pdftotext', [path, '-'], { maxBuffer: 16 * 1024 * 1024 });
  return stdout.split('\n').filter((line) => line.trim() !== '');
}

const squeezed = (text: string): string => text.replaceAll(/[\s\u200b\u202a-\u202e\u2066-\u2069]+/gu, '');

test('an approval adds its line to the PDF and changes nothing else', async () => {
  // One comment fills more than a page, and another has characters that no font has.
  const data = commented(dataset([onboarding, workload]), `${'A word and **another one**. '.repeat(130)}\n\n- 漢字`);
  const reviewed = await textOf('reviewed', data);
  const approved = await textOf('approved', { ...data, approval: approval('Ada Lovelace', '漢字') });
  const isLine = (line: string) => line.startsWith('Approved by Ada Lovelace on 16 November 2026 and');
  expect(approved.filter(isLine)).toHaveLength(1);
  expect(approved.filter((line) => !isLine(line))).toEqual(reviewed);
  // Nothing else changes even if only the approver's name has such characters.
  const plain = await textOf('plain', dataset([workload]));
  const named = await textOf('named', { ...dataset([workload]), approval: approval('漢字') });
  expect(named.filter((line) => !line.startsWith('Approved by'))).toEqual(plain);
});

test('comments and corrections are never read as markup', async () => {
  const data = commented(dataset([onboarding]), HOSTILE.join('\n\n'));
  const change = { section: 'onboarding', metric: 'profiles.created', bucket: null, group: null, before: 1, after: 2 };
  const text = squeezed((await textOf('hostile', { ...data, correction: correction([change]) })).join(''));
  for (const each of HOSTILE) {
    expect(text.split(squeezed(each).slice(0, 24))).toHaveLength(3);
  }
  expect(text).toContain(squeezed('Corrected, replaces the edition of 3 November 2026. 1 figure changed:'));
  expect(text).toContain(squeezed('Onboarding: Profiles created: 2, was 1'));
});
