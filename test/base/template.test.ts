import { expect, test } from 'vitest';
import { fillTemplate } from '../../src/base/template.ts';

const VARIABLES = { period: { label: '2026-W46', from: '2026-11-09' }, org: 'acme' };

test('a template is filled with the variables it names', () => {
  expect(fillTemplate('KPIs {{ period.label }} {{ org | upcase }}', VARIABLES, 'the subject')).toBe(
    'KPIs 2026-W46 ACME',
  );
});

test.each([
  ['{{ nothing }}', 'an unknown variable'],
  ['{{ period.nothing }}', 'an unknown part of a variable'],
  ['{{ org | nothing }}', 'an unknown filter'],
  ['{{ org', 'a template that is not closed'],
  ["{% include '/etc/passwd' %}", 'a file'],
  ["{% render '/etc/passwd' %}", 'a file'],
  ["{% layout '/etc/passwd' %}", 'a file'],
  ['{{ org.constructor }}', 'what is inherited'],
  ['{% for i in (1..100000000) %}{{ i }}{% endfor %}', 'more memory or time than a name needs'],
])('%s is refused: %s', (template) => {
  expect(() => fillTemplate(template, VARIABLES, 'the subject')).toThrowError(
    expect.objectContaining({ code: 'template.invalid', where: 'the subject', got: `"${template}"` }),
  );
});
