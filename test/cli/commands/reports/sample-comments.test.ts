import { expect, test } from 'vitest';
import { sampleComments } from '../../../../src/cli/commands/reports/preview.ts';
import { reportFileSchema } from '../../../../src/compose/built-in-kinds.ts';
import { plainCommentText } from '../../../../src/definitions/commentary/comment-text.ts';
import { dataset, onboarding, workload } from '../../../support/dataset.ts';

const figures = dataset([onboarding, workload]);
const section = (id: string, commentary?: string) => ({
  id,
  metrics: ['profiles.created'],
  ...(commentary === undefined ? {} : { commentary }),
});
const report = (sections: readonly object[], more: object = {}) =>
  reportFileSchema.parse({
    version: 1,
    title: 'Weekly',
    owner: 'ops@acme.example',
    schedule: [],
    period: 'previous_week',
    outputs: [{ format: 'xlsx' }],
    sections,
    ...more,
  });
const comments = (...args: Parameters<typeof report>) =>
  sampleComments(report(...args), 0)(figures, 'en').comments?.map(({ section: of, blocks }) => [
    of,
    plainCommentText(blocks),
  ]);

test('a sample has a comment wherever the report allows one, with figures of the section', () => {
  expect(comments([section('onboarding', 'required'), section('workload')])).toEqual([
    ['onboarding', expect.stringContaining('6,390, +1.6%')],
  ]);
  expect(comments([section('onboarding')], { approval: { by: ['mlro'] } })).toEqual([[null, expect.any(String)]]);
  expect(comments([section('onboarding')])).toBeUndefined();
});
