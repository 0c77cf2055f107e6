// Measures a report with `split` for 1, 4, 40 and 500 desks: its calls, compared with twice those of the unsplit report
// (the limit in the design) and with one run per desk; the seconds of the whole command; and the peak memory of its
// process. A proxy in front of the sandbox distributes each of its four groups to any number of desks.
//
//   npm run build && npm run build:modules && node bench/desks.mjs [--quick] [--most 500]
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { readOptions } from './support/options.mjs';
import { layOut, MAIN } from './support/processes.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf, rounded } from './support/report.mjs';

const { most } = readOptions({ most: 500 }, { most: 40 });
const report = reportOf('desks');
const BY = 'profile.group';
const GROUPS = ['Retail', 'Merchants', 'Marketplace', 'Partners'];
/** Limit of the memory in addition to what the command needs for a single desk. */
const GROWTH_MB = 300;

const thread = new Worker(new URL('support/sandbox-thread.mjs', import.meta.url));
const service = await new Promise((resolve) => thread.once('message', resolve));
const sink = spawn(process.execPath, [fileURLToPath(new URL('support/mail-sink.mjs', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const lines = createInterface({ input: sink.stdout })[Symbol.asyncIterator]();
const { port } = JSON.parse((await lines.next()).value);
const taken = async () => {
  sink.stdin.write('\n');
  return JSON.parse((await lines.next()).value).messages;
};

let desks = [];
let calls = 0;
const nameOf = (index) => `Desk ${String(index + 1).padStart(3, '0')}`;

/** Changes a response for the desks: each gets the rows of one of the sandbox's groups. */
function spread(body, request, chosen) {
  if (!request.dimensions?.includes(BY)) return;
  body.rows = desks.flatMap((value, index) =>
    chosen !== undefined && !chosen.includes(value)
      ? []
      : body.rows.filter((row) => row[BY] === GROUPS[index % 4]).map((row) => ({ ...row, [BY]: value })),
  );
  body.meta.row_count = body.rows.length;
  body.meta.truncated = body.rows.length > 5_000;
  body.rows = body.rows.slice(0, 5_000);
}

const proxy = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const asked = parts.length === 0 ? undefined : JSON.parse(Buffer.concat(parts).toString());
  const chosen = asked?.filters?.find(({ dimension }) => dimension === BY)?.values;
  const filters = asked?.filters?.filter(({ dimension }) => dimension !== BY);
  const { filters: _, ...rest } = asked ?? {};
  const answer = await fetch(`${service.url}${request.url}`, {
    method: request.method,
    headers: { authorization: request.headers.authorization, 'content-type': 'application/json' },
    ...(asked === undefined ? {} : { body: JSON.stringify({ ...rest, ...(filters?.length ? { filters } : {}) }) }),
  });
  const body = /** @type {any} */ (await answer.json());
  if (request.url.includes('/analytics/report/')) {
    calls += 1;
    spread(body, asked, chosen);
  } else if (request.url.includes('/analytics/metrics/')) {
    const dimension = body.dimensions.find((/** @type {{ id: string }} */ { id }) => id === BY);
    dimension.values = desks.map((value) => ({ value, label: value }));
  }
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', () => resolve(undefined)));
const { port: proxyPort } = /** @type {import('node:net').AddressInfo} */ (proxy.address());

const SECTIONS = [
  {
    id: 'totals',
    layout: 'scorecard',
    metrics: ['profiles.created', 'profiles.approval_rate'],
    compare: 'previous_period',
  },
  { id: 'risk', metrics: ['profiles.created', 'profiles.decided'], dimensions: ['profile.risk'], totals: true },
  { id: 'days', metrics: ['profiles.created'], granularity: 'day' },
];
const MARKET = { id: 'market', title: 'Market', metrics: ['transaction_alerts.closed'] };
const base = { version: 1, title: 'Desks', owner: 'ops@acme.example', period: 'previous_month' };
const outputs = (name) => [
  { format: 'xlsx', name },
  { format: 'csv', name: `${name}-{{ section.id }}` },
];
const split = (count) => ({
  ...base,
  split: {
    by: BY,
    to: Object.fromEntries(
      Array.from({ length: count }, (_, index) => [nameOf(index), [`desk-${index}@acme.example`]]),
    ),
  },
  sections: [...SECTIONS, { ...MARKET, split: false }],
  outputs: outputs('{{ split.slug }}'),
  deliveries: [{ email: { to: 'split', attach: ['xlsx'] } }],
});
const whole = {
  ...base,
  sections: [...SECTIONS, MARKET],
  outputs: outputs('pack'),
  deliveries: [{ email: { to: ['all@acme.example'], attach: ['xlsx'] } }],
};

/** Runs the command; returns its calls, e-mails, seconds, and peak memory in MB. */
async function measure(file) {
  // A new Redis, because another run's responses and catalog would be shared.
  const redis = await privateRedis();
  const settings = { recipients: { domains: ['acme.example'] }, budget: { calls: 1_000, window: 1 } };
  const { folder, env, close } = await layOut({ acme: { key: service.key, settings, reports: { desks: file } } });
  const [callsBefore, mailsBefore] = [calls, await taken()];
  const startedAt = performance.now();
  const child = spawn(process.execPath, [MAIN, 'run', 'acme/desks', '--period', '2026-10', '--json'], {
    cwd: folder,
    env: {
      ...process.env,
      ...env,
      REDIS_URL: redis.url,
      COMPLIANCE_API_URL: `http://127.0.0.1:${proxyPort}`,
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: 'reports@acme.example',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const errors = [];
  child.stderr.on('data', (text) => errors.push(String(text)));
  let peak = 0;
  const watch = setInterval(() => {
    try {
      peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? peak);
    } catch {}
  }, 100);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearInterval(watch);
  if (code !== 0) throw new Error(errors.join('').slice(-2_000));
  const seconds = rounded((performance.now() - startedAt) / 1000, 1);
  await close();
  await redis.close();
  return {
    calls: calls - callsBefore,
    mails: (await taken()) - mailsBefore,
    seconds,
    peak_mb: rounded(peak / 1024, 0),
  };
}

desks = GROUPS;
const unsplit = await measure(whole);
report({ name: 'unsplit', ...unsplit });
let first;
for (const count of [1, 4, 40, 500].filter((one) => one <= most)) {
  desks = Array.from({ length: count }, (_, index) => nameOf(index));
  const found = await measure(split(count));
  first ??= found;
  if (found.mails !== count) throw new Error(`${found.mails} mails for ${count} desks`);
  const bound = 2 * unsplit.calls;
  report({
    name: `${count} ${count === 1 ? 'desk' : 'desks'}`,
    ...found,
    bound,
    one_by_one: count * unsplit.calls,
    // Rows above the limit of one call need several calls.
    limit: { ...(count <= 40 ? { calls: bound } : {}), peak_mb: first.peak_mb + GROWTH_MB },
  });
}
proxy.close();
sink.stdin.end();
await thread.terminate();
