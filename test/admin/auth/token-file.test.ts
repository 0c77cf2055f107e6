import { mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addToken, noTokens, readTokens, watchTokenFile } from '../../../src/admin/auth/token-file.ts';
import { createTokenVerifier, hashToken, newToken } from '../../../src/admin/auth/tokens.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { recordingLog } from '../../support/queue-harness.ts';

describe('the file of tokens', () => {
  let folder: string;
  let count = 0;
  const aPath = () => {
    count += 1;
    return join(folder, `tokens-${count}.yaml`);
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-tokens-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('is created with the first token, is readable by its owner only, and holds no token', async () => {
    const path = aPath();
    const token = await addToken(path, { name: 'ci', role: 'operator', orgs: ['acme'], expires: '2027-01-31' });
    const text = await readFile(path, 'utf8');
    expect(text).not.toContain(token);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readTokens(path)).toEqual([
      { name: 'ci', sha256: hashToken(token), role: 'operator', orgs: ['acme'], expires: '2027-01-31' },
    ]);
  });

  it('never lets a token decide under the name of Docket itself', async () => {
    const { token, sha256 } = newToken();
    const entries = async () => [{ name: 'docket', sha256, role: 'operator' as const, orgs: '*' as const }];
    expect(await createTokenVerifier(entries, Date.now).verify(token)).toMatchObject({
      principal: { name: 'docket (token)', subject: 'token:docket' },
    });
  });

  it('keeps its comments and its entries when one is added', async () => {
    const path = aPath();
    const { sha256 } = newToken();
    await writeFile(path, `# who is who\n- name: ann # on call\n  sha256: ${sha256}\n  role: viewer\n  orgs: "*"\n`);
    await addToken(path, { name: 'ben', role: 'viewer', orgs: '*' });
    const text = await readFile(path, 'utf8');
    expect(text).toContain('# who is who');
    expect(text).toContain('# on call');
    expect((await readTokens(path)).map((entry) => entry.name)).toEqual(['ann', 'ben']);
  });

  it('can be JSON, and stays JSON', async () => {
    const path = aPath();
    await writeFile(path, JSON.stringify([{ name: 'ann', sha256: newToken().sha256, role: 'viewer', orgs: ['acme'] }]));
    await addToken(path, { name: 'ben', role: 'viewer', orgs: ['acme'] });
    expect(await readTokens(path)).toHaveLength(2);
  });

  it('refuses a second token of a name', async () => {
    const path = aPath();
    await addToken(path, { name: 'ci', role: 'viewer', orgs: '*' });
    await expect(addToken(path, { name: 'ci', role: 'viewer', orgs: '*' })).rejects.toMatchObject({
      code: 'usage.invalid',
    });
    expect(await readTokens(path)).toHaveLength(1);
  });

  it('refuses an invalid expiry date', async () => {
    await expect(addToken(aPath(), { name: 'ci', role: 'viewer', orgs: '*', expires: 'soon' })).rejects.toMatchObject({
      code: 'usage.invalid',
    });
  });

  it.each([
    ['a mapping', 'name: ann'],
    ['broken YAML', '- [a'],
    ['an alias', '- &a { name: x }\n- *a'],
    ['endless nested lists', '['.repeat(200_000)],
    ['endless nested mappings', '- a: '.repeat(30_000)],
    ['endless fields', Array.from({ length: 30_000 }, (_, index) => `field${index}: 1`).join('\n')],
    ['a repeated field', `- { name: a, sha256: ${'0'.repeat(64)}, role: viewer, role: operator, orgs: "*" }`],
    ['a token instead of its hash', '- { name: a, sha256: docket_abc, role: viewer, orgs: "*" }'],
    ['an unknown role', `- { name: a, sha256: ${'0'.repeat(64)}, role: god, orgs: "*" }`],
    ['an unknown field', `- { name: a, sha256: ${'0'.repeat(64)}, role: viewer, orgs: "*", admin: true }`],
    [
      'a repeated name',
      `- &x { name: a, sha256: ${'0'.repeat(64)}, role: viewer, orgs: "*" }\n- { name: a, sha256: ${'1'.repeat(64)}, role: viewer, orgs: "*" }`,
    ],
  ])('refuses %s, naming the file', async (_, text) => {
    const path = aPath();
    await writeFile(path, text);
    const error = await readTokens(path).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'config.invalid', where: path });
  });

  it('is reported when it is missing', async () => {
    await expect(readTokens(join(folder, 'nowhere.yaml'))).rejects.toMatchObject({
      code: 'config.invalid',
      got: 'no such file',
    });
  });

  describe('while the server runs', () => {
    const change = async (path: string, text: string) => {
      await writeFile(path, text);
      await utimes(path, new Date(), new Date(Date.now() + 5_000 + count * 1_000));
      count += 1;
    };

    it('accepts added tokens and refuses removed ones', async () => {
      const [clock, log, path] = [manualClock(0), recordingLog(), aPath()];
      const first = await addToken(path, { name: 'first', role: 'viewer', orgs: '*' });
      const tokens = await watchTokenFile(path, { clock, log });
      const second = await addToken(path, { name: 'second', role: 'viewer', orgs: '*' });
      expect(await tokens.verify(second)).toEqual({ accepted: false, why: 'unknown' });
      clock.advance(2_000);
      expect(await tokens.verify(second)).toMatchObject({ accepted: true, principal: { name: 'second' } });
      await change(path, '[]');
      clock.advance(2_000);
      expect(await tokens.verify(first)).toEqual({ accepted: false, why: 'unknown' });
    });

    it('keeps the last good version when it becomes invalid, and accepts nobody when it is removed', async () => {
      const [clock, log, path] = [manualClock(0), recordingLog(), aPath()];
      const token = await addToken(path, { name: 'first', role: 'viewer', orgs: '*' });
      const tokens = await watchTokenFile(path, { clock, log });
      await change(path, '- [');
      clock.advance(2_000);
      expect(await tokens.verify(token)).toMatchObject({ accepted: true });
      expect(log.lines).toMatchObject([{ level: 'error', path }]);
      await rm(path);
      clock.advance(2_000);
      expect(await tokens.verify(token)).toMatchObject({ accepted: false });
    });
  });

  it('can be created later: until then every request is rejected, and the log says how to create a token', async () => {
    const [clock, log, path] = [manualClock(0), recordingLog(), aPath()];
    const tokens = await watchTokenFile(path, { clock, log });
    expect(log.lines).toMatchObject([
      { level: 'warn', path, message: expect.stringContaining('docket tokens create') },
    ]);
    const token = await addToken(path, { name: 'first', role: 'operator', orgs: '*' });
    clock.advance(2_000);
    expect(await tokens.verify(token)).toMatchObject({ accepted: true, principal: { name: 'first' } });
  });

  it('can be empty: the log says that every request is rejected', async () => {
    const [log, path] = [recordingLog(), aPath()];
    await writeFile(path, '[]\n', { mode: 0o600 });
    await watchTokenFile(path, { clock: manualClock(0), log });
    expect(log.lines).toMatchObject([
      { level: 'warn', path, message: expect.stringContaining('docket tokens create') },
    ]);
  });

  it('is optional: without it every request is rejected, and the log says how to create a token', async () => {
    const log = recordingLog();
    expect(await noTokens(log).verify(newToken().token)).toEqual({ accepted: false, why: 'unknown' });
    expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('docket tokens create') }]);
  });
});
