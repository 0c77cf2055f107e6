import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as XLSX from '@e965/xlsx';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reportResponseSchema } from '../../src/contract/report.ts';
import { type Block, blocksOf, type Terminal, terminal, withOutputs } from '../support/transcript.ts';

const FIRST_REPORT = fileURLToPath(new URL('../../docs/tutorials/first-report.md', import.meta.url));
const BOARD_PACK = fileURLToPath(new URL('../../docs/tutorials/first-board-pack.md', import.meta.url));
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const REWRITE = process.env.REWRITE_TUTORIALS === '1';
/** The first tutorial promises this time. */
const PROMISED_MS = 5 * 60_000;

let folder: string;
const open: Terminal[] = [];
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'docket-tutorials-')));
  await mkdir(join(folder, 'bin'));
  // Puts `docket` on the PATH, as `npm link` does.
  await writeFile(join(folder, 'bin/docket'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`);
  await chmod(join(folder, 'bin/docket'), 0o755);
});
afterAll(async () => {
  for (const one of open.reverse()) await one.close();
  // A stopping worker may still be writing.
  await rm(folder, { recursive: true, force: true, maxRetries: 20 });
});

const newTerminal = (): Terminal => {
  const path = `${join(folder, 'bin')}:${process.env.PATH}`;
  // The admin route's own port may be taken on the machine of the test.
  const opened = terminal(folder, { PATH: path, HOME: folder, DOCKET_ADMIN_PORT: '0' });
  open.push(opened);
  return opened;
};

/** Maps each port on the page to a free port of this machine. */
const ports = new Map<string, string>();
const asHere = (text: string): string => [...ports].reduce((all, [page, here]) => all.replaceAll(page, here), text);
const asOnPage = (text: string): string =>
  [...ports]
    .reduce((all, [page, here]) => all.replaceAll(here, page), text)
    .replaceAll(folder, '/home/you')
    .replace(/^.*DOCKET_ADMIN_PORT.*\n/gm, '');

/** Removes what differs between machines and days. */
const comparable = (text: string): string =>
  text
    // Facts about the machine: Node.js, clock, disk, load.
    .replace(
      /^(ok|warn) +(Node\.js|Time zone data|Redis (latency|memory|clock)|API clock|Disk of the archive):.*\n( {6}.*\n)?/gm,
      '',
    )
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>')
    .replace(/\d{4}-W\d\d/g, '<week>')
    .replace(/\d{4}-\d\d-\d\d/g, '<date>')
    .replace(/\b\d{4}-\d\d\b/g, '<month>')
    .replace(/`docket runs show [0-9a-f]{8}`/g, '`docket runs show <run>`')
    // How many calls are cached depends on when the run starts.
    .replace(/, \d+ cached/g, '')
    .replace(/UTC[+-]\d\d:\d\d/g, '<offset>')
    .replace(/\d+(\.\d+)? (KB|MB|GB)\b/g, '<size>')
    .replace(/version \d+\.\d+\.\d+/g, 'version <version>')
    // How long a stage took: `, 340 ms`, `, 1.2 s`, `, 1 min 1 s`.
    .replace(/, \d[\d.]*( min \d+)? m?s$/gm, ', <time>')
    .replace(/\d+ of 30 calls free/g, '<free> of 30 calls free')
    // The headlines depend on the week and month in which the test runs.
    .replace(/(^ {2}[^/\n]+: [^\n]+ \([^)\n]+ the (?:week|month) before\)\n)+/gm, '  <headlines>\n');

async function play(blocks: readonly Block[], second: Terminal): Promise<Block[]> {
  const played: Block[] = [];
  for (const { info, steps, file } of blocks) {
    if (file !== undefined) await writeFile(join(folder, 'reports', file.path), file.text);
    const done: { command: string; output: string }[] = [];
    for (const { command } of steps) {
      if (info === 'console terminal-1') {
        const output = await newTerminal().start(`${command} --port 0 --mail-port 0`, 'Ctrl-C stops it.');
        const found = (name: string) => new RegExp(`${name}=\\w+://(\\S+)`).exec(output)?.[1] ?? '';
        ports.set('127.0.0.1:8600', found('COMPLIANCE_API_URL'));
        ports.set('127.0.0.1:1025', found('SMTP_URL'));
        ports.set('127.0.0.1:6379', found('REDIS_URL'));
        done.push({ command, output: asOnPage(output) });
        continue;
      }
      const { output, code } = await second.run(asHere(command));
      expect(`${command} → ${code}\n${code === 0 ? '' : output}`).toBe(`${command} → 0\n`);
      done.push({ command, output: info === 'sh run' ? '' : asOnPage(output) });
    }
    played.push({ info, steps: done });
  }
  return played;
}

/** Runs the commands of a page in this terminal. Compares their output with the page, or rewrites the page. */
async function playPage(path: string, second: Terminal): Promise<void> {
  const page = await readFile(path, 'utf8');
  const reported = blocksOf(page);
  const begun = performance.now();
  const played = await play(reported, second);
  const tookMs = performance.now() - begun;
  process.stderr.write(
    `${path}: ${Math.round(tookMs / 1000)} s for ${reported.flatMap(({ steps }) => steps).length} commands\n`,
  );
  if (REWRITE) await writeFile(path, withOutputs(page, played));
  else {
    for (const [index, { steps }] of reported.entries()) {
      for (const [at, { command, output }] of steps.entries()) {
        const now = played[index]?.steps[at]?.output ?? '';
        expect(comparable(`$ ${command}\n${now}\n`)).toBe(comparable(`$ ${command}\n${output}\n`));
      }
    }
  }
  expect(tookMs).toBeLessThan(PROMISED_MS);
}

test('the commands of the tutorials print what the pages show, and the first e-mail has the figures of the API', async () => {
  const second = newTerminal();
  await playPage(FIRST_REPORT, second);
  const mailbox = join(folder, 'mailbox');
  const [first, again, ...others] = (await readdir(mailbox)).sort();
  // One from `docket run`, one from the worker.
  expect([first, again, others]).toEqual(['0001-you@acme.example.eml', '0002-you@acme.example.eml', []]);
  const mail = await PostalMime.parse(await readFile(join(mailbox, first ?? '')));
  const workbook = mail.attachments.find(({ filename }) => filename?.endsWith('.xlsx'));
  const { Sheets } = XLSX.read(workbook?.content);
  const rows: unknown[][] = XLSX.utils.sheet_to_json(Sheets['Onboarding by day'] ?? {}, { header: 1 });
  const service = await weekOf(/\d{4}-W\d\d/.exec(mail.subject ?? '')?.[0] ?? '');
  const created = Number(service['profiles.created']);
  expect(created).toBeGreaterThan(0);
  const total = rows.find(([head]) => /^total/i.test(String(head)));
  expect(total).toContain(created);
  // Headlines differ from week to week, but the scorecard always has this figure.
  expect(mail.text).toContain(`Profiles created | ${created} |`);

  await playPage(BOARD_PACK, second);
  const [pack, ...more] = (await readdir(mailbox)).filter((name) => name.includes('board@acme.example'));
  expect(more).toEqual([]);
  const board = await PostalMime.parse(await readFile(join(mailbox, pack ?? '')));
  expect(board.attachments.map(({ filename }) => filename)).toContainEqual(expect.stringMatching(/\.xlsx$/));
  expect(board.text).toContain('Mira Keller');
}, 600_000);

/** The totals of an ISO week in Zurich, requested from the API. */
async function weekOf(label: string): Promise<Readonly<Record<string, unknown>>> {
  const [, year = '', week = ''] = /^(\d{4})-W(\d\d)$/.exec(label) ?? [];
  const fourth = new Date(Date.UTC(Number(year), 0, 4));
  const monday = fourth.getTime() + ((Number(week) - 1) * 7 - ((fourth.getUTCDay() + 6) % 7)) * 86_400_000;
  const day = (offset: number) => new Date(monday + offset * 86_400_000).toISOString().slice(0, 10);
  const [, key = ''] = /DEMO_API_KEY=(\S+)/.exec(await readFile(FIRST_REPORT, 'utf8')) ?? [];
  const answer = await fetch(`http://${ports.get('127.0.0.1:8600')}/api/orgs/current/analytics/report/`, {
    method: 'POST',
    headers: { Authorization: `Api-Key ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      metrics: ['profiles.created'],
      time: { from: day(0), to: day(6), timezone: 'Europe/Zurich' },
      include: ['totals'],
    }),
  });
  return reportResponseSchema.parse(await answer.json()).totals ?? {};
}
