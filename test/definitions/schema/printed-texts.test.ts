import { expect, test } from 'vitest';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { orgFileSchema } from '../../../src/definitions/schema/org-settings.ts';
import { targetsFileSchema } from '../../../src/definitions/schema/targets.ts';

/** Looks like `1,000` to readers. */
const TURNED = '\u202e000,1\u202c';
const MARKED = `\u200fof \u2066${TURNED}\u2069\u200b\u00ad\ufeff`;
const KEPT = 'of 000,1';

test('texts for readers lose direction controls and invisible characters', () => {
  const report = reportFileSchema.parse({
    version: 1,
    title: MARKED,
    description: MARKED,
    owner: 'ops@acme.example',
    period: 'previous_month',
    labels: { 'profiles.created': MARKED },
    outputs: [{ format: 'xlsx' }],
    sections: [
      {
        id: 'kpis',
        title: MARKED,
        description: MARKED,
        metrics: ['profiles.created'],
        dimensions: ['profile.risk'],
        chart: { kind: 'bar', axes: { primary: MARKED } },
      },
    ],
  });
  expect(report).toMatchObject({
    title: KEPT,
    description: KEPT,
    labels: { 'profiles.created': KEPT },
    sections: [{ title: KEPT, description: KEPT, chart: { axes: { primary: KEPT } } }],
  });
  const org = {
    version: 1,
    timezone: 'UTC',
    recipients: { domains: ['acme.example'] },
    api_key: { env: 'DOCKET_API_KEY' },
    org: 1,
  };
  expect(
    orgFileSchema.parse({ ...org, name: MARKED, classification: MARKED, people: { mlro: { name: MARKED } } }),
  ).toMatchObject({ name: KEPT, classification: KEPT, people: { mlro: { name: KEPT } } });
  const target = { metric: 'profiles.created', better: 'higher', target: 1, owner: MARKED, note: MARKED };
  expect(targetsFileSchema.parse({ version: 1, targets: [target] }).targets[0]).toMatchObject({
    owner: KEPT,
    note: KEPT,
  });
});

test('a title of only invisible characters counts as empty', () => {
  expect(orgFileSchema.shape.name.safeParse('\u200b\u2060').success).toBe(false);
});

test('letters and emoji keep the joiners that they need', () => {
  const title = '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u{1f469}\u200d\u{1f4bb} \u2764\ufe0f';
  expect(orgFileSchema.shape.name.parse(title)).toBe(title);
});
