import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { dataset, onboarding, workload } from '../support/dataset.ts';
import { faultyDisk } from '../support/faulty-disk.ts';
import { useRenderFolder } from '../support/render-folder.ts';

const { folder, render } = useRenderFolder();
const OUTPUTS = [{ format: 'xlsx' }, { format: 'csv' }] as const;

test.each(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS'] as const)(
  'a disk error %s while files are written leaves none behind, and the next attempt writes them',
  async (code) => {
    const disk = faultyDisk(onTestFinished);
    disk.here();
    const place = join(await folder(), 'staged');
    await mkdir(place);
    disk.breaks(code, place);
    const made = render(dataset([onboarding, workload]), OUTPUTS, { folder: place });
    await expect(made).rejects.toMatchObject({
      code: 'disk.unavailable',
      retryable: true,
      where: place,
      got: expect.stringMatching(new RegExp(`^${code}, \\d+ bytes free$`)),
    });
    disk.mends();
    expect(await readdir(place)).toEqual([]);
    expect(await render(dataset([onboarding, workload]), OUTPUTS, { folder: place })).not.toEqual([]);
  },
);

test('an encrypted workbook that does not fit on the disk leaves no readable copy', async () => {
  const disk = faultyDisk(onTestFinished);
  disk.here();
  const place = await folder();
  disk.breaks('ENOSPC', place);
  const made = render(dataset([onboarding]), [{ format: 'xlsx' }], {
    folder: place,
    secrets: { xlsx: { password: 'correct horse' } },
  });
  await expect(made).rejects.toMatchObject({ code: 'disk.unavailable' });
  disk.mends();
  expect(await readdir(place)).toEqual([]);
});
