import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { CFB } from '@e965/xlsx';
import { unzipSync } from 'fflate';
import { afterEach, describe, expect, it } from 'vitest';
import { chosenFiles } from '../../../../src/deliver/targets/file-target.ts';
import { individualFiles, mailAttachments } from '../../../../src/render/artifact.ts';
import { dataset, MADE_AT, onboarding, workload } from '../../../support/dataset.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();
const both = dataset([workload, onboarding]);
const OUTPUTS = [{ format: 'xlsx' }, { format: 'csv', name: '{{ section.id }} für Zürich' }] as const;
const zoneBefore = process.env.TZ;
afterEach(() => {
  process.env.TZ = zoneBefore;
});

describe('the zip of the CSV files', () => {
  it('contains every CSV file and its schema unchanged, sorted by name', async () => {
    const artifacts = await render(both, OUTPUTS, { bundled: ['csv'] });
    const zip = artifactNamed(artifacts, '.zip');
    expect(zip).toMatchObject({ name: 'Weekly compliance KPIs 2026-W46.zip', mediaType: 'application/zip' });
    const bytes = readFileSync(zip.path);
    // Bit 11 marks the names as UTF-8. This reader does not need it, Windows does.
    expect(bytes.readUInt16LE(6) & 0x800).toBe(0x800);
    const { FileIndex }: { FileIndex: { type: number; name: string; content: Uint8Array }[] } = CFB.read(bytes, {
      type: 'buffer',
    });
    const inside = FileIndex.filter(({ type, name }) => type === 2 && !name.startsWith('\u0001')).map(
      ({ name, content }) => ({ name: Buffer.from(name, 'latin1').toString('utf8'), content }),
    );
    expect(inside.map(({ name }) => name)).toEqual([
      'onboarding für Zürich.csv',
      'onboarding für Zürich.schema.json',
      'onboarding für Zürich.totals.csv',
      'onboarding für Zürich.totals.schema.json',
      'workload für Zürich.csv',
      'workload für Zürich.schema.json',
    ]);
    for (const { name, content } of inside) {
      expect(Buffer.from(content)).toEqual(readFileSync(artifactNamed(artifacts, name).path));
    }
  });

  it('has the same bytes on one day in every time zone, and different bytes on another day', async () => {
    const hash = async (zone: string, madeAt: number) => {
      process.env.TZ = zone;
      return artifactNamed(await render(both, OUTPUTS, { bundled: ['csv'], madeAt }), '.zip').sha256;
    };
    const here = await hash('Europe/Zurich', MADE_AT);
    expect(await hash('Pacific/Auckland', MADE_AT + 1000)).toBe(here);
    expect(await hash('Europe/Zurich', MADE_AT + 86_400_000)).not.toBe(here);
  });

  it('is created even when the clock of the machine is not set', async () => {
    expect(artifactNamed(await render(both, OUTPUTS, { bundled: ['csv'], madeAt: 0 }), '.zip').bytes).toBeGreaterThan(
      0,
    );
  });

  it('is created only for an e-mail, and not for a single CSV file', async () => {
    const formats = async (...made: Parameters<typeof render>) => (await render(...made)).map(({ format }) => format);
    expect(await formats(both, OUTPUTS)).not.toContain('zip');
    expect(await formats(dataset([workload]), OUTPUTS, { bundled: ['csv'] })).not.toContain('zip');
  });

  it('replaces the single files in an e-mail, and is not delivered to a folder', async () => {
    const several = await render(both, OUTPUTS, { bundled: ['csv'] });
    const names = (files: readonly { name: string }[]) => files.map(({ name }) => name);
    expect(mailAttachments(several, ['csv']).map(({ format }) => format)).toEqual(['zip']);
    expect(mailAttachments(several, ['xlsx']).map(({ format }) => format)).toEqual(['xlsx']);
    expect(mailAttachments(several, ['xlsx', 'csv']).map(({ format }) => format)).toEqual(['xlsx', 'zip']);
    expect(names(individualFiles(several))).toEqual(names(several.filter(({ format }) => format !== 'zip')));
    const single = await render(dataset([workload]), OUTPUTS, { bundled: ['csv'] });
    expect(mailAttachments(single, ['csv']).map(({ format }) => format)).toEqual(['csv', 'schema']);
  });
});

describe('a compressed CSV output', () => {
  it('contains the same files, each in gzip beside a plain schema, or all in one zip', async () => {
    const plain = await render(both, [{ format: 'csv' }]);
    const gzip = await render(both, [{ format: 'csv', compress: 'gzip' }]);
    expect(gzip.map(({ name }) => name)).toEqual(
      plain.map(({ name }) => (name.endsWith('.csv') ? `${name}.gz` : name)),
    );
    for (const { name, path } of plain) {
      const file = artifactNamed(gzip, name.endsWith('.csv') ? `${name}.gz` : name);
      const bytes = readFileSync(file.path);
      expect(file.format === 'csv' ? gunzipSync(bytes) : bytes).toEqual(readFileSync(path));
    }
    const chosen = chosenFiles(gzip, { files: ['totals'] }).map(({ name }) => name);
    expect(chosen).toEqual([expect.stringMatching(/ onboarding\.totals\.csv\.gz$/)]);

    const zipped = await render(both, [{ format: 'csv', compress: 'zip' }, { format: 'xlsx' }], { bundled: ['csv'] });
    expect(zipped.map(({ name }) => name)).toEqual([
      'Weekly compliance KPIs 2026-W46.csv.zip',
      'Weekly compliance KPIs 2026-W46.xlsx',
    ]);
    const entries = unzipSync(readFileSync(artifactNamed(zipped, '.zip').path));
    expect(Object.keys(entries).toSorted()).toEqual(plain.map(({ name }) => name).toSorted());
    for (const { name, path } of plain) expect(Buffer.from(entries[name] ?? [])).toEqual(readFileSync(path));
    expect(mailAttachments(zipped, ['csv'])).toEqual(zipped.slice(0, 1));
  });
});
