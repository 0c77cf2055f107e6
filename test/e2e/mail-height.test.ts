import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inlineImages } from '../../src/render/artifact.ts';
import { renderEmail } from '../../src/render/email/render-email.ts';
import { openChromium } from '../support/browser.ts';
import { MADE_AT } from '../support/dataset.ts';
import { samplePacks } from '../support/pack-datasets.ts';

/** The height that readers scroll through, in CSS pixels. */
const MAX_HEIGHT = 2_500;
const GENERATED = 12;
const OPTIONS = { run: 'r'.repeat(32), madeAt: MADE_AT, schedules: [], onDemand: true, logo: 'jobs/demo/logo.png' };

let browser: Browser;
beforeAll(async () => {
  browser = await openChromium();
});
afterAll(() => browser?.close());

test('e-mails of 600 pixels width are no longer than readers scroll', async () => {
  const page = await browser.newPage({ viewport: { width: 600, height: 800 } });
  const heights: number[] = [];
  for (const { dataset, locale } of samplePacks(GENERATED)) {
    const mail = await renderEmail(dataset, [], { ...OPTIONS, locale });
    await page.setContent(inlineImages(mail));
    heights.push(await page.evaluate('document.documentElement.scrollHeight'));
  }

  expect(heights.filter((height) => height > MAX_HEIGHT)).toEqual([]);
  // The measurement works: some e-mails are nearly as high as allowed.
  expect(Math.max(...heights)).toBeGreaterThan(0.75 * MAX_HEIGHT);
});
