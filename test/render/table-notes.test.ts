import { expect, test } from 'vitest';
import { tableFacts } from '../../src/render/table-notes.ts';
import { dataset, onboarding, WEEK_BEFORE } from '../support/dataset.ts';

test('the compared period is named, also where its days are unknown', () => {
  const [known] = tableFacts(dataset([]), onboarding);
  const [unknown] = tableFacts(dataset([]), { ...onboarding, comparisons: [{ ...WEEK_BEFORE, range: null }] });
  const [none] = tableFacts(dataset([]), { ...onboarding, comparisons: [] });
  expect(known).toMatch(/, compared with 2\D+8 November 2026\. Computed/);
  expect(unknown).toContain(', compared with the previous period (its days are not known). Computed');
  expect(none).not.toContain('compared');
});
