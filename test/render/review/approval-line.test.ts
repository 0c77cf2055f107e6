import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Output } from '../../../src/definitions/schema/kinds.ts';
import type { Dataset } from '../../../src/fetch/dataset.ts';
import type { Artifact } from '../../../src/render/artifact.ts';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { packData } from '../../../src/render/formats/pdf/data/pack-data.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { dataset, MADE_AT, nastyDataset, onboarding, workload } from '../../support/dataset.ts';
import { packCase, samplePacks } from '../../support/pack-datasets.ts';
import { cellsOf, readWorkbook } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';
import { approval, commented, HOSTILE } from '../../support/reviewed-dataset.ts';

const { render } = useRenderFolder();
const OUTPUTS = [{ format: 'xlsx' }, { format: 'csv' }] as Output[];
const LINE = 'Approved by Ada Lovelace on 16 November 2026 and Bo Li on 16 November 2026';
const RUN = '0123456789abcdef0123456789abcdef';

const approved = (data: Dataset): Dataset => ({ ...data, approval: approval('Ada Lovelace', 'Bo Li') });

/** Every text and number of every sheet in order, with the sheet's name. */
function textsOf(artifacts: readonly Artifact[]): string[] {
  const book = readWorkbook(artifactNamed(artifacts, '.xlsx').path);
  return book.SheetNames.flatMap((name) =>
    cellsOf(book, name).flatMap((row) =>
      row.flatMap((cell) => (cell?.v === undefined || cell.t === 'z' ? [] : [`${name}: ${cell.t} ${cell.v}`])),
    ),
  );
}

const without = (texts: readonly string[], line: string): { readonly rest: string[]; readonly found: number } => ({
  rest: texts.filter((text) => !text.includes(line)),
  found: texts.filter((text) => text.includes(line)).length,
});

/** Leaves out the sizes of files, which differ. */
const withoutSizes = (text: string): string => text.replace(/\([\d.,']+ [kM]B/g, '(');

describe('the line of an approval', () => {
  const packs = [
    ['hostile data', commented(nastyDataset(), HOSTILE.join('\n\n')), 'en-GB'],
    ...samplePacks(2, packCase({ min: 3, max: 6 })).map(
      (each, index) =>
        [`sample ${index}`, commented(each.dataset, `**Words.** ${'Words. '.repeat(90)}`), 'en-GB'] as const,
    ),
  ] as const;

  it.each(packs)('is the only difference between the delivered and the reviewed pack: %s', async (_, data, locale) => {
    const [before, after] = [
      await render(data, OUTPUTS, { locale }),
      await render(approved(data), OUTPUTS, { locale }),
    ];
    const cells = without(textsOf(after), LINE);
    expect(cells).toEqual({ rest: textsOf(before), found: 1 });

    expect(after.map(({ name }) => name)).toEqual(before.map(({ name }) => name));
    const csv = (artifacts: readonly Artifact[]) =>
      artifacts.filter(({ format }) => format !== 'xlsx').map(({ name, sha256 }) => [name, sha256]);
    expect(csv(after)).toEqual(csv(before));

    const options = { run: RUN, madeAt: MADE_AT, attached: ['xlsx'], locale };
    const [reviewed, sent] = [
      await renderEmail(data, before, options),
      await renderEmail(approved(data), after, options),
    ];
    for (const part of ['html', 'text'] as const) {
      const lines = without(withoutSizes(sent[part]).split('\n'), LINE);
      expect(lines).toEqual({ rest: withoutSizes(reviewed[part]).split('\n'), found: 1 });
    }
    expect(sent.pictures).toEqual(reviewed.pictures);

    const pdfOf = (each: Dataset) =>
      packData(buildPack(each, { locale }), each, { run: RUN, digest: '', madeAt: MADE_AT, formats: ['pdf'] });
    expect({ ...pdfOf(approved(data)), approval: '' }).toEqual(pdfOf(data));
    expect(pdfOf(approved(data)).approval).toBe(LINE);
  });

  it('is one line, whatever the names of the people are', async () => {
    const names = ['A\nBcc: x@evil.example', '\u202eevil', 'N'.repeat(500), '<b>&</b>', 'E', 'F', 'G'];
    const { approval: line = '' } = buildPack({ ...dataset([workload]), approval: approval(...names) });
    expect(line).not.toMatch(/[\p{Cc}\u2028\u202a-\u202e]/u);
    expect(line.length).toBeLessThan(400);
    expect(line).toContain('2 other people');
    const { html } = await renderEmail({ ...dataset([workload]), approval: approval(...names) }, [], {
      run: RUN,
      madeAt: MADE_AT,
    });
    expect(html).not.toContain('<b>&</b>');
  });

  it('is in the language of the report, and absent without an approval', () => {
    const data = dataset([workload]);
    expect(buildPack(approved(data), { locale: 'de-CH' }).approval).toBe(
      'Freigegeben von Ada Lovelace am 16. November 2026 und Bo Li am 16. November 2026',
    );
    const by = [{ name: 'Dora\nRoth', for: 'Ada Lovelace', at: '2026-11-16T09:00:00Z' }];
    const deputy = { ...data, approval: { by, content: '' } };
    expect(buildPack(deputy).approval).toBe('Approved by Dora Roth for Ada Lovelace on 16 November 2026');
    expect(buildPack(deputy, { locale: 'de-CH' }).approval).toBe(
      'Freigegeben von Dora Roth für Ada Lovelace am 16. November 2026',
    );
    expect(buildPack(data).approval).toBeUndefined();
    expect(buildPack({ ...data, approval: approval() }).approval).toBeUndefined();
  });
});

it('a pack with an empty list of comments equals a pack without comments', async () => {
  const [plain, empty] = [dataset([onboarding]), { ...dataset([onboarding]), comments: [] }];
  const [one, other] = [await render(plain, OUTPUTS), await render(empty, OUTPUTS)];
  expect(other.map(({ sha256 }) => sha256)).toEqual(one.map(({ sha256 }) => sha256));
  expect(one.map(({ name }) => name).filter((name) => name.includes('comments'))).toEqual([]);
  expect(await readFile(artifactNamed(one, '.xlsx').path)).toHaveLength(one[0]?.bytes ?? 0);
});
