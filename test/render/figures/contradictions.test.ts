import { describe, expect, it } from 'vitest';
import { contradictions } from '../../../src/render/figures/comments/contradictions.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import { dataset, nastyDataset, onboarding, row, table, workload } from '../../support/dataset.ts';

// Profiles created 6,390 (before 6,290), approval rate 83.6% (83.0%), time to decision 19,011.5 s (15,000 s).
const judged = judgeDataset(
  dataset([onboarding, workload]),
  [{ metric: 'profiles.approval_rate', better: 'higher', target: '85%', source: 'report' }],
  { sections: [] },
);
const numbers = (text: string, section: string | null = 'onboarding', locale = 'en-GB') =>
  contradictions(text, section, judged, locale).map(({ number }) => number);

describe('contradictions between a comment and its figures', () => {
  it.each([
    'We had 6,390 profiles, 100 more than 6,290 (+1.6%).',
    'Roughly **6,400** profiles; 6.4k in all, 84 % approved, target 85%.',
    'An approval rate of 83.6, up 0.6 pp from 83.0%.',
    'Time to decision (median) rose to 5.3 hours from 4.2 h.',
    'On Monday there were 1,204, which is 18.8% of all.',
    '{{ onboarding.profiles.created }} and {{ onboarding.profiles.approval_rate.change }}',
    'On 3 November 2026, 2026-11-03 and 10:56, see Q3, ISO9001, run 83b1c195, 5-7%, 3rd, 12 of us met for 2 days.',
    'Profiles created were counted since 3 Nov and Nov 16.',
  ])('are not found in %j', (text) => {
    expect(numbers(text)).toEqual([]);
  });

  it.each([
    ['We had 6,930 profiles.', ['6,930']],
    ['**83.9%** were approved, 83.9% indeed, and 17 %.', ['83.9%', '17 %']],
    ['Approval rate: 90, from 83.', ['90']],
    ['It took 6.1 hours.', ['6.1 hours']],
    ['Up to 7.4k.', ['7.4k']],
    ['- 12,345 profiles', ['12,345']],
  ])('are found in %j', (text, found) => {
    expect(numbers(text)).toEqual(found);
  });

  it('include the right figure when the sentence names its metric', () => {
    expect(contradictions('The approval rate fell to 38%.', 'onboarding', judged, 'en-GB')).toEqual([
      { number: '38%', figure: { label: 'Approval rate', text: '83.6%' } },
    ]);
    expect(contradictions('It fell to 38%.', 'onboarding', judged, 'en-GB')).toEqual([{ number: '38%' }]);
  });

  it('respect German and Swiss number formats', () => {
    expect(numbers('6.390 Profile, 6’390, 83,6 %, am 3. November und am 3.11.', 'onboarding', 'de-CH')).toEqual([]);
    expect(numbers('6.930 Profile und 93,6 %', 'onboarding', 'de-DE')).toEqual(['6.930', '93,6 %']);
  });

  it('are judged by the figures of one section, or of the whole report', () => {
    expect(numbers('Open alerts: 37', 'workload')).toEqual([]);
    expect(numbers('Open alerts: 38', 'workload')).toEqual(['38']);
    expect(numbers('6,390 profiles', 'workload')).toEqual(['6,390']);
    expect(numbers('6,390 profiles and 37 open alerts', null)).toEqual([]);
    expect(numbers('6,930', 'gone')).toEqual([]);
  });

  it('are not searched for in comments on lists and very long tables', () => {
    expect(contradictions('6,930', 'roster', nastyDataset(), 'en')).toEqual([]);
    const rows = Array.from({ length: 5_001 }, () => row({ 'profiles.created': 1 }));
    const long = table({ id: 'long', columns: onboarding.columns.slice(1, 2), rows });
    expect(contradictions('6,930', 'long', dataset([long]), 'en')).toEqual([]);
  });
});
