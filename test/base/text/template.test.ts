import { expect, test } from 'vitest';
import { MAX_TEMPLATE_COST, renderTemplate } from '../../../src/base/text/template.ts';

const VARIABLES = { period: { label: '2026-W46', from: '2026-11-09' }, org: 'acme' };

test('a template is filled with the variables it names', () => {
  expect(renderTemplate('KPIs {{ period.label }} {{ org | upcase }}', VARIABLES, 'the subject')).toBe(
    'KPIs 2026-W46 ACME',
  );
});

test.each([
  ['{{ nothing }}', 'an unknown variable'],
  ['{{ period.nothing }}', 'an unknown property of a variable'],
  ['{{ org | nothing }}', 'an unknown filter'],
  ['{{ org', 'an unclosed template'],
  ["{% include '/etc/passwd' %}", 'a file'],
  ["{% render '/etc/passwd' %}", 'a file'],
  ["{% layout '/etc/passwd' %}", 'a file'],
  ['{{ org.constructor }}', 'an inherited property'],
  ['{% for i in (1..100000000) %}{{ i }}{% endfor %}', 'an expensive loop'],
])('%s is refused: %s', (template) => {
  expect(() => renderTemplate(template, VARIABLES, 'the subject')).toThrowError(
    expect.objectContaining({ code: 'template.invalid', where: 'the subject', got: `"${template}"` }),
  );
});

const LOOP = (inside: string) => `{% for i in (1..60) %}{% for j in (1..60) %}${inside}{% endfor %}{% endfor %}`;
const LIST = '{% assign a = (1..9000) %}';

test.each([
  [LOOP('x'), 'nested loops with output'],
  [LOOP(''), 'nested loops without output'],
  [`${LIST}${'{% for i in a %}'.repeat(8)}${'{% endfor %}'.repeat(8)}`, 'nested loops over one list'],
  [`${LIST}{% tablerow i in a %}{% endtablerow %}`, 'a loop for a table'],
  ['{% tablerow i in (1..10) %}{% tablerow j in (1..90) %}x{% endtablerow %}{% endtablerow %}', 'a table of tables'],
  [
    '{% assign a = "0123456789" %}{% for i in (1..40) %}{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}{{ a | size }}',
    'a text that doubles',
  ],
  [`${LIST}{% for i in (1..9) %}{% if a contains "x" %}{% endif %}{% endfor %}`, 'comparisons with a long list'],
  [`${LIST}{% for i in (1..9) %}{% case a %}{% when a %}{% endcase %}{% endfor %}`, 'comparisons of long lists'],
  [
    '{% assign a = (1..900) %}{{ a | find_index_exp: "x", "1 == 2 or 1 == 2 or 1 == 2" }}',
    'an expression for each entry',
  ],
  [
    '{% assign m = (1..900) | group_by_exp: "x", "1" | map: "items" %}{% for i in (1..12) %}{% assign m = m | concat: m %}{% endfor %}{{ m | size }}',
    'lists in lists',
  ],
])('%s is refused as too expensive: %s', (template) => {
  expect(() => renderTemplate(template, VARIABLES, 'the subject')).toThrowError(
    expect.objectContaining({ code: 'template.invalid', expected: expect.stringContaining(String(MAX_TEMPLATE_COST)) }),
  );
});

test('a loop over the characters of the longest title, with a branch and a filter, is allowed', () => {
  const template =
    '{% assign all = title | split: "" %}{% for c in all %}{% if c == "-" %}_{% else %}{{ c | upcase }}{% endif %}{% endfor %}';
  expect(renderTemplate(template, { title: 'a-'.repeat(100) }, 'the subject')).toBe('A_'.repeat(100));
});
