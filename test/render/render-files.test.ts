import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FORMATS } from '../../src/render/formats/registry.ts';
import { renderFiles } from '../../src/render/render-files.ts';
import {
  countColumn,
  dataset,
  groupColumn,
  nastyDataset,
  onboarding,
  row,
  table,
  WEEK_BEFORE,
  workload,
} from '../support/dataset.ts';
import { artifactNamed, useRenderFolder } from '../support/render-folder.ts';

const { options, render } = useRenderFolder();

describe('the files of a report', () => {
  it('have their size and hash, and the names of their templates', async () => {
    const artifacts = await render(dataset([onboarding, workload]), [
      { format: 'xlsx', name: 'KPIs {{ period.label }}.xlsx' },
      { format: 'csv', name: '{{ org }} {{ section.id }}' },
    ]);
    expect(artifacts.map(({ name, format }) => [name, format])).toEqual([
      ['KPIs 2026-W46.xlsx', 'xlsx'],
      ['acme onboarding.csv', 'csv'],
      ['acme onboarding.schema.json', 'schema'],
      ['acme onboarding.totals.csv', 'csv'],
      ['acme onboarding.totals.schema.json', 'schema'],
      ['acme workload.csv', 'csv'],
      ['acme workload.schema.json', 'schema'],
    ]);
    for (const { name, path, bytes, sha256 } of artifacts) {
      const content = await readFile(path);
      expect(basename(path)).toBe(name);
      expect(bytes).toBe(content.length);
      expect(sha256).toBe(createHash('sha256').update(content).digest('hex'));
    }
  });

  it('have the same bytes for the same dataset, run and instant', async () => {
    const once = await render(nastyDataset(), [{ format: 'xlsx' }, { format: 'csv' }]);
    const again = await render(nastyDataset(), [{ format: 'xlsx' }, { format: 'csv' }]);
    expect(again.map(({ sha256 }) => sha256)).toEqual(once.map(({ sha256 }) => sha256));
  });

  it('replace those of an earlier attempt', async () => {
    const first = await options();
    await renderFiles(dataset([onboarding]), [{ format: 'xlsx' }], FORMATS, first);
    await writeFile(join(first.folder, '.docket-0.part'), 'left by a crash');
    const [artifact] = await renderFiles(dataset([workload]), [{ format: 'xlsx' }], FORMATS, first);
    expect(await readdir(first.folder)).toEqual([artifact!.name]);
  });

  it('are all removed when one of them fails', async () => {
    const about = await options();
    const outputs = [{ format: 'csv' }, { format: 'xlsx' }] as const;
    const broken = table({
      id: 'broken',
      columns: [groupColumn, countColumn],
      rows: [
        {
          partial: false,
          get values(): never {
            throw new Error('a row that cannot be read');
          },
        },
      ],
    });
    await expect(renderFiles(dataset([onboarding, broken]), outputs, FORMATS, about)).rejects.toMatchObject({
      code: 'render.failed',
    });
    expect(await readdir(about.folder)).toEqual([]);
  });

  it('are all removed when the run is cancelled while they are written', async () => {
    const cancel = new AbortController();
    const about = await options({ signal: cancel.signal });
    const many = table({
      id: 'many',
      columns: [groupColumn, countColumn],
      rows: Array.from({ length: 5000 }, (_, index) => {
        const values = { 'profile.group': `g${index}`, 'profiles.created': index };
        return {
          partial: false,
          // The cancellation arrives in the middle of the rows.
          get values() {
            if (index === 2500) cancel.abort(new Error('cancelled by hand'));
            return values;
          },
        };
      }),
    });
    await expect(renderFiles(dataset([many]), [{ format: 'xlsx' }], FORMATS, about)).rejects.toThrow(
      'cancelled by hand',
    );
    expect(await readdir(about.folder)).toEqual([]);
  });

  it('are refused before anything is written when two would have one name', async () => {
    const about = await options();
    const outputs = [{ format: 'csv', name: 'report' }] as const;
    await expect(renderFiles(dataset([onboarding, workload]), outputs, FORMATS, about)).rejects.toMatchObject({
      code: 'render.failed',
      got: '"report.csv" twice',
    });
    expect(await readdir(about.folder)).toEqual([]);
  });

  it('fail with a DocketError when the folder does not exist', async () => {
    const about = await options();
    await rm(about.folder, { recursive: true });
    const failed = expect.objectContaining({ code: 'disk.unavailable', retryable: true, where: about.folder });
    await expect(renderFiles(dataset([onboarding]), [{ format: 'xlsx' }], FORMATS, about)).rejects.toEqual(failed);
    await expect(renderFiles(dataset([onboarding]), [{ format: 'csv' }], FORMATS, about)).rejects.toEqual(failed);
  });
});

describe('a CSV file', () => {
  const read = async (data: Parameters<typeof render>[0], ending: string) =>
    readFile(artifactNamed(await render(data, [{ format: 'csv' }]), ending).path, 'utf8');

  it('has the previous period even when the API does not say its days', async () => {
    const lines = (
      await read(dataset([{ ...onboarding, comparisons: [{ ...WEEK_BEFORE, range: null }] }]), ' onboarding.csv')
    ).split('\r\n');
    expect(lines[0]).toContain('"Profiles created (count), previous period"');
    expect(lines[1]).toBe('2026-11-09,1204,1300,0.81,0.83,12345,15000,false,');
  });

  it('has a byte order mark, CRLF, labels with units, raw values and empty fields for undefined figures', async () => {
    const lines = (await read(dataset([onboarding]), ' onboarding.csv')).split('\r\n');
    expect(lines[0]).toBe(
      '\ufeffBucket,Profiles created (count),"Profiles created (count), previous period",Approval rate (ratio 0–1),' +
        '"Approval rate (ratio 0–1), previous period",Time to decision (median) (seconds),' +
        '"Time to decision (median) (seconds), previous period",Still running,"Not comparable, previous period"',
    );
    expect(lines[1]).toBe('2026-11-09,1204,1300,0.81,0.83,12345,15000,false,');
    expect(lines[7]).toBe('2026-11-15,0,0,,,,,true,');
    expect(lines).toHaveLength(9);
    expect(lines[8]).toBe('');
  });

  it('has its totals in a separate file, so that a sum over a column counts nothing twice', async () => {
    const text = await read(dataset([onboarding]), ' onboarding.totals.csv');
    expect(text.split('\r\n')[1]).toBe('6390,6290,0.836,0.83,19011.5,15000,true,');
  });

  it('escapes formulas in texts and headers, and leaves numbers unchanged', async () => {
    const evil = table({
      id: 'evil',
      columns: [groupColumn, { ...countColumn, label: '=1+1' }],
      rows: ['=1', '+1', '-1', '@a', '\ta', '\ra', '\na', ' =1', '＝1', 'a=1', 'a-1'].map((group, index) =>
        row({ 'profile.group': group, 'profiles.created': -index }),
      ),
    });
    const text = await read(dataset([evil]), ' evil.csv');
    expect(text).toContain("'=1+1 (count)");
    for (const neutral of [
      "'=1,0",
      "'+1,-1",
      "'-1,-2",
      "'@a,-3",
      "'\ta,-4",
      "' =1,-7",
      "'＝1,-8",
      'a=1,-9',
      'a-1,-10',
    ]) {
      expect(text).toContain(`\n${neutral},false\r`);
    }
    expect(text).toContain('"\'\ra",-5');
    expect(text).toContain('"\'\na",-6');
  });
});
