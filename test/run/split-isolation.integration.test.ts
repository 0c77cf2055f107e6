import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { splitSlug } from '../../src/definitions/split.ts';
import { type LocalRedis, localRedis } from '../../src/demo/local-redis.ts';
import { createMailCatcher, type MailCatcher } from '../../src/demo/mail-catcher.ts';
import { filesBelow } from '../support/canary.ts';
import { assertOnlyOf, canaryDeskService, DESKS, deskAddress, desksIn, deskValue } from '../support/canary-desks.ts';
import { type HostileServer, hostileServer } from '../support/hostile-server.ts';
import { runCommand } from '../support/run-command.ts';

const ORG = (webhook: string) => ({
  'org.yaml': `
version: 1
name: Acme
org: 7
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
destinations: { folders: [out], hosts: ["127.0.0.1"] }
allow_private: true
budget: { calls: 1000, window: 1 }
`,
  'desks.yaml': `
version: 1
title: Casework
owner: owner@acme.example
period: previous_week
compare: previous_period
headline: [profiles.created, profiles.decided]
split:
  by: profile.group
  to: { ${[1, 2, 3].map((n) => `"${deskValue(n)}": [${deskAddress(n)}, deputy-${deskAddress(n)}]`).join(', ')}, "${deskValue(5)}": [${deskAddress(5)}] }
targets:
${DESKS.map((n) => `  - { metric: profiles.decided, better: higher, target: 4${n}9999, note: "of ${deskValue(n)}", where: { profile.group: "${deskValue(n)}" } }`).join('\n')}
  - { metric: profiles.created, better: higher, target: 800000, each_desk: true }
  - { metric: profiles.rejected, better: higher, target: 700000, rows: [profile.reason], each_desk: true }
sections:
  - { id: totals, title: Totals, layout: scorecard, metrics: [profiles.created, profiles.decided], trend: 13 }
  - { id: reasons, title: Reasons, metrics: [profiles.created], dimensions: [profile.reason], totals: true, order: [{ by: profiles.created, dir: desc }], limit: 1, chart: bar }
  - { id: days, title: Days, metrics: [profiles.created, profiles.rejected], granularity: day, chart: line }
  - { id: months, title: Months, metrics: [profiles.created], dimensions: [profile.reason], granularity: day }
  - { id: own, title: Own row, metrics: [profiles.created], dimensions: [profile.group], granularity: week, totals: true }
  - { id: market, title: Market, split: false, metrics: [profiles.created] }
outputs:
  - { format: xlsx, name: "{{ split.value }}" }
  - { format: csv, name: "{{ split.label }} {{ section.id }}", csv: { values: formatted } }
  - { format: pdf }
  - { format: jsonl }
  - { format: parquet }
deliveries:
  - email: { to: split, attach: [xlsx, csv, pdf], subject: "{{ split.label }}: {{ title }}", together: true }
  - split: true
    directory: { path: "out/{{ split.slug }}/{{ period.label }}", overwrite: true }
  - split: true
    webhook: { url: "${webhook}/hook", secret: { env: HOOK_SECRET } }
`,
});

describe('a split report from a service that marks each figure and label with its desk', () => {
  let folder: string;
  let redis: LocalRedis;
  let mail: MailCatcher;
  let api: HostileServer;
  let hook: HostileServer;
  let env: Record<string, string>;
  let run: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-isolation-'));
    redis = await localRedis({ PATH: process.env.PATH });
    mail = await createMailCatcher(join(folder, 'mailbox'));
    api = await hostileServer();
    // The table of months takes several calls, each for some of the desks.
    api.behave(canaryDeskService({ maxRows: 40 }));
    hook = await hostileServer();
    hook.behave((_request, response) => response.writeHead(204).end());
    await mkdir(join(folder, 'jobs/acme'), { recursive: true });
    for (const [name, text] of Object.entries(ORG(hook.url))) await writeFile(join(folder, 'jobs/acme', name), text);
    env = {
      COMPLIANCE_API_URL: api.url,
      ACME_KEY: 'key',
      HOOK_SECRET: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
      DOCKET_JOBS: join(folder, 'jobs'),
      DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
      DOCKET_PUBLIC_URL: 'https://docket.acme.example',
      REDIS_URL: redis.url,
      SMTP_URL: mail.url,
      MAIL_FROM: 'reports@acme.example',
    };
    const ended = await runCommand(['run', 'acme/desks', '--json'], { env, cwd: folder });
    // Desk 4 has rows but no recipient: its pack is held.
    expect(ended.code, ended.stderr).toBe(3);
    run = JSON.parse(ended.stdout).run;
  });
  afterAll(async () => {
    await mail.close();
    await api.close();
    await hook.close();
    await redis.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('has no word and no figure of another desk in its archived files and folders', async () => {
    for (const n of DESKS) {
      const slug = splitSlug(deskValue(n));
      const kinds = await assertOnlyOf(join(folder, 'archive/acme/desks', run, 'files', slug), n);
      expect([...kinds].sort()).toEqual(
        ['csv', 'html', 'json', 'jsonl', 'parquet', 'pdf', 'txt', 'xlsx', 'zip'].sort(),
      );
      if (n !== 4) await assertOnlyOf(join(folder, 'out', slug), n);
    }
  });

  test('has marks of one desk only in each message and each webhook request', async () => {
    const seen = new Set<number>();
    for await (const { path, text } of filesBelow(join(folder, 'mailbox'))) {
      const found = desksIn(text);
      expect([...found].length, path).toBe(1);
      for (const n of found) seen.add(n);
    }
    expect([...seen].sort()).toEqual([1, 2, 3, 5]);
    expect(hook.requests).toHaveLength(4);
    for (const { body, headers } of hook.requests) expect(desksIn(JSON.stringify([body, headers])).size).toBe(1);
  });

  test('makes and sends the pack of one desk alone, and not again without --again', async () => {
    const given = { env, cwd: folder };
    const of = (n: number, ...more: string[]) =>
      runCommand(['run', 'acme/desks', '--json', '--value', deskValue(n), ...more], given);
    const refused = await of(2);
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      error: { code: 'already_delivered', delivered: { people: 2 } },
    });
    const before = mail.messages().length;
    const again = await of(2, '--again', '--out', 'two');
    expect(again.code, again.stderr).toBe(0);
    const sent = mail.messages().slice(before);
    expect(sent.flatMap(({ to }) => to).sort()).toEqual([`deputy-${deskAddress(2)}`, deskAddress(2)]);
    await assertOnlyOf(join(folder, 'two'), 2);

    // The pack of desk 4 was held, because it had no recipient: nobody has received it.
    expect((await of(4)).code).toBe(2);
    const file = join(folder, 'jobs/acme/desks.yaml');
    const report = await readFile(file, 'utf8');
    await writeFile(file, report.replace('  to: { ', `  to: { "${deskValue(4)}": [${deskAddress(4)}], `));
    const late = await of(4);
    expect(late.code, late.stderr).toBe(0);
    expect(mail.messages().at(-1)?.to).toEqual([deskAddress(4)]);
    const listed = await runCommand(['deliveries', '--value', deskValue(4), '--json'], given);
    const rows: { recipient: string; state: string }[] = JSON.parse(listed.stdout).deliveries;
    expect(rows.map(({ state }) => state)).toEqual(['sent', 'sent', 'sent']);
    expect(rows.map(({ recipient }) => recipient)).toContain(deskAddress(4));
    expect(desksIn(listed.stdout)).toEqual(new Set([4]));
    await writeFile(file, report);
  });

  test('has no marks of another desk in a preview of one desk, or in a desk’s folder in a preview of all', async () => {
    const given = { env, cwd: folder };
    const one = await runCommand(['preview', 'acme/desks', '--value', deskValue(2), '--out', 'one'], given);
    expect(one.code, one.stderr).toBe(0);
    expect((await assertOnlyOf(join(folder, 'one'), 2)).has('html')).toBe(true);
    expect(desksIn(one.stdout)).toEqual(new Set([2]));
    const all = await runCommand(['preview', 'acme/desks', '--out', 'all'], given);
    expect(all.code, all.stderr).toBe(0);
    for (const n of DESKS) await assertOnlyOf(join(folder, 'all', splitSlug(deskValue(n))), n);
  });

  test('tells desks apart whose names differ in case, white space or normalization, or look like paths', async () => {
    const names = ['Caf\u00e9', 'caf\u00e9', 'Cafe\u0301', 'Caf\u00e9 ', `../${splitSlug('Caf\u00e9')}`];
    api.behave(canaryDeskService({ named: (n) => names[n - 1] ?? '' }));
    const report = ORG(hook.url)
      ['desks.yaml'].replace(/ {2}to: .*\n/, '  to: desks.csv\n')
      .replace(/^targets:\n( {2}- .*\n)*/m, '');
    // Of two names that are equal once normalized, the list takes one.
    const list = names.flatMap((name, index) => (index === 2 ? [] : [`"${name}",desk-${index + 1}@acme.example`]));
    // Another organization, because the catalog of the first one is kept for an hour.
    await mkdir(join(folder, 'jobs/beta'));
    await writeFile(join(folder, 'jobs/beta/org.yaml'), ORG(hook.url)['org.yaml'].replace('org: 7', 'org: 8'));
    await writeFile(join(folder, 'jobs/beta/desks.yaml'), report);
    await writeFile(join(folder, 'jobs/beta/desks.csv'), ['value,address', ...list, ''].join('\n'));
    const before = mail.messages().length;
    const ended = await runCommand(['run', 'beta/desks', '--json'], { env, cwd: folder });
    // The list has no desk with the other form of the name, so the pack of that desk is held.
    expect(ended.code, ended.stderr).toBe(3);
    const { run: id } = JSON.parse(ended.stdout);
    for (const n of DESKS) {
      const slug = splitSlug(names[n - 1] ?? '');
      await assertOnlyOf(join(folder, 'archive/beta/desks', id, 'files', slug), n);
      if (n !== 3) await assertOnlyOf(join(folder, 'out', slug), n);
    }
    const sent = mail.messages().slice(before);
    expect(sent.flatMap(({ to }) => to).sort()).toEqual([1, 2, 4, 5].map((n) => `desk-${n}@acme.example`));
    for await (const { path, text } of filesBelow(join(folder, 'mailbox'))) {
      const message = sent.find((one) => one.path === path);
      if (message === undefined) continue;
      const n = Number(/\d/.exec(message.to[0] ?? '')?.[0]);
      // Desk 5 has no rows.
      expect([...desksIn(text)]).toEqual(n === 5 ? [] : [n]);
    }
  });
});
