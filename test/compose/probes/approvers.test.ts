import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { checkApprovers, evaluateApprovers, type SignIns } from '../../../src/compose/probes/approvers.ts';
import { peopleSchema } from '../../../src/definitions/schema/review.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const people = peopleSchema.parse({
  mlro: { tokens: ['ann'], accounts: ['ann@acme.example'] },
  head: { tokens: ['bob'], email: 'bob@acme.example' },
});
const token = (name: string, more: Partial<SignIns['tokens'][number]> = {}) => ({ name, orgs: ['acme'], ...more });
const both = [token('ann'), token('bob')];

test.each<[string, string, readonly string[], number, SignIns]>([
  ['ok', 'both have a token', ['mlro', 'head'], 2, { tokens: both, accounts: undefined }],
  [
    'ok',
    'one has an account',
    ['mlro'],
    1,
    { tokens: [], accounts: (accounts) => accounts.includes('ann@acme.example') },
  ],
  ['ok', 'an account without a person', ['dora@acme.example'], 1, { tokens: [], accounts: () => true }],
  ['warn', 'enough, but not all', ['mlro', 'head'], 1, { tokens: [token('ann')], accounts: undefined }],
  ['warn', 'no address for notices', ['carl'], 1, { tokens: [token('carl')], accounts: undefined }],
  [
    'warn',
    'a token with the name of a person',
    ['mlro', 'head'],
    1,
    { tokens: [...both, token('mlro')], accounts: undefined },
  ],
  ['fail', 'no such token', ['mlro', 'head'], 2, { tokens: [token('ann')], accounts: undefined }],
  ['fail', 'an expired token', ['head'], 1, { tokens: [token('bob', { expires: '2026-11-20' })], accounts: undefined }],
  [
    'fail',
    'a token of another organization',
    ['head'],
    1,
    { tokens: [token('bob', { orgs: ['globex'] })], accounts: undefined },
  ],
  ['fail', 'an account without a sign-in entry', ['mlro'], 1, { tokens: [], accounts: () => false }],
  ['fail', 'the name of a token although only accounts can sign in', ['carl'], 1, { tokens: [], accounts: () => true }],
  ['fail', 'no sign-in at all', ['mlro'], 1, { tokens: [], accounts: undefined }],
])('the check of approvers gives %s for: %s', (state, _, by, need, signIns) => {
  const found = evaluateApprovers({ by: [...by], need }, { org: 'acme', people }, signIns, NOW);
  expect(found.state).toBe(state);
  expect(found.remedy === undefined).toBe(state === 'ok');
});

test('docket doctor has a line for each report with an approval', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'docket-tokens-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const tokens = join(folder, 'tokens.yaml');
  await writeFile(tokens, `- { name: ann, sha256: "${'0'.repeat(64)}", role: viewer, orgs: "*" }\n`);
  const jobs = await loadDefinitions(
    await jobsFolder({
      'acme/org.yaml': `${ORG}people: { mlro: { tokens: [ann], email: ann@acme.example } }\n`,
      'acme/pack.yaml': `${REPORT}approval: { by: [mlro] }\n`,
      'acme/plain.yaml': REPORT,
    }),
  );
  const config = readConfig({ DOCKET_ADMIN_TOKENS: tokens });
  const look = () => checkApprovers(jobs, { config, clock: systemClock }, undefined);
  expect(await look()).toEqual([{ what: 'Approvers of acme/pack', state: 'ok', detail: expect.any(String) }]);
  await writeFile(tokens, 'not a list');
  expect(await look()).toMatchObject([{ state: 'fail' }]);
});
