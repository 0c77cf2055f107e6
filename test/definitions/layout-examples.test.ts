import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { LAYOUTS } from '../../src/definitions/schema/layout.ts';
import { definitionOf, type SectionInput } from '../support/reports.ts';

const examples = [...readFileSync('docs/internals/layouts.md', 'utf8').matchAll(/```yaml\n(.*?)```/gs)].map(
  ([, text = '']): SectionInput[] => parse(text),
);

test('docs/internals/layouts.md has a valid example of each layout', () => {
  const sections = examples.flatMap((example) => definitionOf([...example, { id: 'rest', list: 'profiles' }]).sections);
  const layouts = new Set(sections.map(({ layout = 'table' }) => layout));
  expect([...layouts].sort()).toEqual([...LAYOUTS].sort());
});
