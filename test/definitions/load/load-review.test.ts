import { describe, expect, test } from 'vitest';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const PEOPLE = `people:
  mlro: { name: Ann Keller, tokens: [ann-cli, ann-ci], accounts: [ann@acme.example] }
  head: { tokens: [bob] }
  guest: {}
`;
const TARGETS = 'version: 1\ntargets:\n  - { metric: profiles.created, better: higher, target: 10 }\n';

const load = async (lines: string, { org = ORG + PEOPLE, section = '', list = '', targets = TARGETS } = {}) =>
  loadDefinitions(
    await jobsFolder({
      'acme/org.yaml': org,
      'acme/targets.yaml': targets,
      'acme/weekly.yaml': REPORT.replace('compare: previous_period\n', `compare: previous_period\n${lines}\n`)
        .replace('    chart: line\n', `    chart: line\n${section}`)
        .replace('    ordering: -id\n', `    ordering: -id\n${list}`),
    }),
  );
const faults = async (...args: Parameters<typeof load>) =>
  (await load(...args)).diagnostics.map(({ path = [], code }) => `${path.join('.')} ${code}`);

describe('reviews in definitions', () => {
  test('are loaded with approval, commentary, corrections and people', async () => {
    const jobs = await load(
      'approval: { by: [mlro, bob, carl, dora@acme.example], need: 4, within: 2bd, otherwise: cancel }\ncorrections: { watch: 35d, materiality: 1% }',
      { section: '    commentary: { required_if: breached, carry: true }\n', list: '    commentary: required\n' },
    );
    expect(jobs.diagnostics).toEqual([]);
    const report = jobs.reports.get('acme/weekly');
    expect(report?.approval).toEqual({
      by: ['mlro', 'bob', 'carl', 'dora@acme.example'],
      need: 4,
      four_eyes: true,
      within: 2,
      otherwise: 'cancel',
    });
    expect(report?.sections.map(({ commentary }) => commentary)).toEqual([
      { required_if: 'breached', carry: true },
      { required: true },
    ]);
    expect(report?.corrections).toEqual({ watch: 35 * 86_400, materiality: 0.01, on_correction: 'notify_owner' });
    expect(jobs.orgs.get('acme')?.people?.head).toEqual({ tokens: ['bob'], accounts: [] });
  });

  test.each([
    [
      'two required approvals by tokens of one person',
      'approval: { by: [ann-cli, ann-ci], need: 2 }',
      ['approval.need approval.unreachable'],
    ],
    [
      'three required approvals by a person, a token of that person and another',
      'approval: { by: [mlro, ann-cli, head], need: 3 }',
      ['approval.need approval.unreachable'],
    ],
    ['a person who cannot sign in', 'approval: { by: [guest] }', ['approval.by.0 report.invalid']],
    [
      'a misspelt or duplicate person who may delegate',
      'approval: { by: [head], may_delegate: [mlro, heda, mlro] }',
      ['approval.may_delegate.1 report.invalid', 'approval.may_delegate.2 report.invalid'],
    ],
    ['an entry twice', 'approval: { by: [mlro, head, mlro], need: 2 }', ['approval.by.2 report.invalid']],
    ['a misspelt person', 'approval: { by: [mrlo] }', ['approval.by.0 report.invalid']],
    ['cancel without a limit', 'approval: { by: [mlro], otherwise: cancel }', ['approval.otherwise report.invalid']],
    ['an empty list of approvers', 'approval: { by: [] }', ['approval.by field.invalid']],
    ['an invalid time limit', 'approval: { by: [mlro], within: 2d }', ['approval.within field.invalid']],
    [
      'a materiality without a unit',
      'corrections: { watch: 35d, materiality: 1 }',
      ['corrections.materiality report.invalid'],
    ],
    [
      'a materiality above 100%',
      'corrections: { watch: 35d, materiality: 101% }',
      ['corrections.materiality field.invalid'],
    ],
  ])('%s is an error', async (_, lines, expected) => {
    expect(await faults(lines)).toEqual(expected);
  });

  test('treat look-alike tokens as different, and the encodings of an accent as the same', async () => {
    const org = (one: string, other: string) =>
      `${ORG}people:\n  a: { tokens: [${one}] }\n  b: { tokens: [${other}] }\n`;
    expect(await faults('', { org: org('\u212aim', 'kim') })).toEqual([]);
    expect(await faults('', { org: org('Kim', 'kim') })).toEqual(['people.b.tokens.0 report.invalid']);
    expect(await faults('', { org: org('Ren\u00e9', 'Rene\u0301') })).toEqual(['people.b.tokens.0 report.invalid']);
  });

  test('count each approver as a person if there are no `people`', async () => {
    expect(await faults('approval: { by: [a, b], need: 2 }', { org: ORG })).toEqual([]);
    expect(await faults('approval: { by: [a, b], need: 3 }', { org: ORG })).toEqual([
      'approval.need approval.unreachable',
    ]);
  });

  test('must not watch for corrections longer than the retention', async () => {
    const org = `${ORG}retention_days: 30\n`;
    const report = 'corrections: { watch: 35d, materiality: 1% }';
    expect(await faults(report, { org })).toEqual(['corrections.watch report.invalid']);
  });

  test.each([
    [
      'a text',
      { list: '  - { id: intro, layout: text, description: Hello, commentary: required }\n' },
      'sections.2.commentary field.invalid',
    ],
    ['a list', { list: '    commentary: { required_if: watch }\n' }, 'sections.1.commentary.required_if field.invalid'],
    [
      'two conditions',
      { section: '    commentary: { required: true, required_if: watch }\n' },
      'sections.0.commentary.required_if field.invalid',
    ],
    [
      'a section without a target',
      { section: '    commentary: { required_if: watch }\n', targets: 'version: 1\ntargets: []\n' },
      'sections.0.commentary.required_if report.invalid',
    ],
    ['an unknown word', { section: '    commentary: yes please\n' }, 'sections.0.commentary field.invalid'],
  ])('have an error for commentary: %s', async (_, parts, expected) => {
    expect(await faults('', parts)).toEqual([expected]);
  });

  test.each([
    ['a token of two people', 'a: { tokens: [x] }\n  b: { tokens: [y, x] }', 'people.b.tokens.1'],
    [
      'an account in another case or encoding, but not a look-alike,',
      'a: { accounts: [\u212Aim@x.example, \u00fc@x.example] }\n  b: { accounts: [kim@x.example, u\u0308@X.example] }',
      'people.b.accounts.1',
    ],
    [
      'an account of two people, in another case',
      'a: { accounts: [a@x.example] }\n  b: { accounts: [A@x.example] }',
      'people.b.accounts.0',
    ],
    ['a printed name twice', 'a: { name: Ann }\n  ann: { tokens: [x] }', 'people.ann'],
    ["another person's key as a token", 'a: { tokens: [b] }\n  b: { tokens: [c] }', 'people.a.tokens.0'],
  ])('%s is an error of org.yaml', async (_, people, path) => {
    expect(await faults('', { org: `${ORG}people:\n  ${people}\n` })).toEqual([`${path} report.invalid`]);
  });
});
