import { describe, expect, it, test } from 'vitest';
import { loadDefinitions } from '../../../../src/compose/built-in-kinds.ts';
import { resolvePeriod } from '../../../../src/definitions/periods/period.ts';
import { localeSchema } from '../../../../src/definitions/schema/values/primitives.ts';
import { jobsFolder, ORG, REPORT } from '../../../support/jobs-folder.ts';

describe('a locale', () => {
  test.each(['en-GB', 'en-US', 'en', 'de', 'de-DE', 'de-CH', 'de-AT', 'de-LI'])('%s is valid', (tag) => {
    expect(localeSchema.safeParse(tag).success).toBe(true);
  });

  test.each(['fr-FR', 'de_DE', 'de-ch', 'DE', 'german', '', 'de-DE-u-nu-arab', 'x'])('%j is invalid', (tag) => {
    expect(localeSchema.safeParse(tag).success).toBe(false);
  });

  it('in an unsupported language is refused with its line, the languages and a similar locale', async () => {
    const folder = await jobsFolder({
      'acme/org.yaml': `${ORG}locale: de-CH\n`,
      'acme/weekly.yaml': `${REPORT}locale: fr-CH\n`,
      'acme/monthly.yaml': `${REPORT}locale: de_DE\n`,
      'acme/daily.yaml': REPORT,
    });
    const { diagnostics, orgs, reports } = await loadDefinitions(folder);
    expect(orgs.get('acme')?.locale).toBe('de-CH');
    expect(reports.get('acme/daily')?.locale).toBe(undefined);
    const lines = REPORT.split('\n').length;
    expect(diagnostics).toMatchObject([
      { line: lines, next: expect.stringContaining('de-DE') },
      { line: lines, expected: expect.stringContaining('(en, de)'), got: expect.stringContaining('fr-CH') },
    ]);
  });

  it('applies to the label of a period without a short name', () => {
    const days = { from: '2026-11-16', to: '2026-11-19' };
    expect(resolvePeriod(days, 0, 'UTC').label).toBe('2026-11-16 to 2026-11-19');
    expect(resolvePeriod(days, 0, 'UTC', 'de-CH').label).toBe('2026-11-16 bis 2026-11-19');
  });
});
