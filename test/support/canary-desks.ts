import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { inflateSync } from 'node:zlib';
import { expect } from 'vitest';
import { buildBuckets, previousPeriod } from '../../src/plan/buckets.ts';
import { filesBelow } from './canary.ts';
import { program } from './debian.ts';
import { type Behaviour, json } from './hostile-server.ts';
import { metricOf } from './reports.ts';

export const SPLIT_BY = 'profile.group';
export const DESKS = [1, 2, 3, 4, 5] as const;

/**
 * The value of the n-th desk, which only its own files may contain. Its label and the labels in its rows contain the word as
 * well.
 */
export const deskValue = (n: number): string => `zq0${n}canary`;
export const deskAddress = (n: number): string => `desk-zq0${n}canary@acme.example`;

/** Every figure of desk n has six digits and starts with 4n. */
const FIGURE = /(?<![\w.])4([1-5])\d,?\d{3}(?!\w)/g;
const WORD = /zq0(\d)canary/g;

/** The desks that a text contains, by a word or by a figure. */
export const desksIn = (text: string): ReadonlySet<number> =>
  new Set([...text.matchAll(WORD), ...text.matchAll(FIGURE)].map(([, n]) => Number(n)));

/** All objects of a PDF, with streams inflated. */
async function pdfObjects(path: string): Promise<string> {
  const bytes = await readFile(path);
  const text = bytes.toString('latin1');
  const streams = [...text.matchAll(/stream\r?\n/g)].flatMap(({ index, 0: { length } }) => {
    try {
      return inflateSync(bytes.subarray(index + length)).toString('utf8');
    } catch {
      return [];
    }
  });
  return [text, ...streams].join('\n');
}

/** The text of every file; workbooks, messages, zips and PDFs are opened. */
async function* readable(folder: string): AsyncGenerator<{ readonly path: string; readonly text: string }> {
  const [pdftotext, pdfinfo] = [await program('pdftotext', 'poppler-utils'), await program('pdfinfo', 'poppler-utils')];
  const out = async (command: string, args: string[]) => (await promisify(execFile)(command, args)).stdout;
  for await (const { path, text } of filesBelow(folder)) {
    yield path.endsWith('.pdf')
      ? {
          path,
          text: [await pdfObjects(path), await out(pdftotext, ['-layout', path, '-']), await out(pdfinfo, [path])].join(
            '\n',
          ),
        }
      : { path, text };
  }
}

/** Asserts that a folder contains marks of this desk only. @returns the kinds of files that have them */
export async function assertOnlyOf(place: string, n: number): Promise<ReadonlySet<string>> {
  const kinds = new Set<string>();
  for await (const { path, text } of readable(place)) {
    const found = desksIn(`${basename(path)} ${text}`);
    for (const other of [...found].filter((each) => each !== n)) {
      const at = text.search(new RegExp(`zq0${other}canary|(?<![\\w.])4${other}\\d,?\\d{3}(?!\\w)`));
      expect(`${path}: ${text.slice(Math.max(0, at - 200), at + 60)}`).toBe('');
    }
    if (found.has(n)) kinds.add(path.replace(/^.*\./, ''));
  }
  return kinds;
}

const REASONS = [...DESKS.map((n) => `zq0${n}canary-reason`), 'plain'];
const METRICS = ['profiles.created', 'profiles.decided', 'profiles.rejected'];

interface Asked {
  readonly metrics: readonly string[];
  readonly dimensions?: readonly string[];
  readonly filters?: readonly { readonly dimension: string; readonly op: string; readonly values: readonly string[] }[];
  readonly time: {
    readonly from: string;
    readonly to: string;
    readonly timezone: string;
    readonly granularity?: 'day' | 'week' | 'month';
    readonly compare?: string;
  };
  readonly include?: readonly string[];
}

/**
 * A service whose figures, groups and labels reveal their desk. Desk 5 has no rows. The rows of a desk have its own reason
 * and one that all desks share. Without the dimension of the split, figures belong to the whole market.
 */
export const canaryDeskService =
  ({ named = deskValue, more = () => 0, maxRows = 5_000, now = Date.now }: Partial<DeskService> = {}): Behaviour =>
  (request, response, body) => {
    const catalog = catalogOf(named, maxRows);
    const answer = request.method === 'GET' ? catalog : answerTo(JSON.parse(body) as Asked, named, more, now());
    return json(answer)(request, response, body);
  };

/** How the service names its desks, and by how much their figures are greater than at first. */
interface DeskService {
  readonly named: (n: number) => string;
  /** At most 900. */
  readonly more: (n: number) => number;
  /** When it computes its figures, epoch ms. */
  readonly now: () => number;
  /** The most rows of one call. */
  readonly maxRows: number;
}

function answerTo(
  { metrics, dimensions = [], filters = [], time, include }: Asked,
  named: DeskService['named'],
  more: DeskService['more'],
  now: number,
) {
  const allowed = (dimension: string, value: string) =>
    filters.every(
      ({ dimension: of, op, values }) =>
        of !== dimension || values.includes(value) !== (op === 'neq' || op === 'not_in'),
    );
  const desks = dimensions.includes(SPLIT_BY) ? DESKS.filter((n) => n !== 5 && allowed(SPLIT_BY, named(n))) : [0];
  const buckets =
    time.granularity === undefined ? [null] : buildBuckets(time, time.granularity).map(({ label }) => label);
  const before = time.granularity === undefined ? 1 : buildBuckets(previousPeriod(time), time.granularity).length;
  const figure = (desk: number, seed: number) =>
    (desk === 0 ? 900_000 : 400_000 + desk * 10_000) + ((seed * 7919) % 9_000) + more(desk);
  const figures = (desk: number, seed: number) =>
    Object.fromEntries(metrics.map((metric) => [metric, figure(desk, seed + METRICS.indexOf(metric) + 1)]));
  const rows = desks.flatMap((desk) =>
    REASONS.filter((reason) => !dimensions.includes('profile.reason') || isOf(reason, desk))
      .slice(0, dimensions.includes('profile.reason') ? undefined : 1)
      .flatMap((reason, nth) =>
        buckets.map((bucket, index) => ({
          ...(bucket === null ? {} : { bucket }),
          ...(dimensions.includes(SPLIT_BY) ? { [SPLIT_BY]: named(desk) } : {}),
          ...(dimensions.includes('profile.reason') ? { 'profile.reason': reason } : {}),
          ...figures(desk, nth * 50 + index),
          ...(time.compare === undefined
            ? {}
            : { compare: index < before ? figures(desk, nth * 50 + index + 5) : null }),
          partial: false,
        })),
      ),
  );
  const kinds = [...(time.granularity === undefined ? [] : ['bucket']), ...dimensions, ...metrics];
  return {
    meta: {
      as_of: new Date(now).toISOString(),
      cached: false,
      refresh_retry_after: null,
      timezone: time.timezone,
      range: { from: time.from, to: time.to },
      ...(time.compare === undefined ? {} : { compare_range: previousPeriod(time) }),
      granularity: time.granularity ?? null,
      row_count: rows.length,
      truncated: false,
      registry_version: 7,
    },
    columns: kinds.map((name) => columnOf(name)),
    rows,
    ...(include === undefined ? {} : { totals: figures(0, 3) }),
  };
}

const isOf = (reason: string, desk: number): boolean =>
  desk === 0 || reason === 'plain' || reason.startsWith(deskValue(desk));

function columnOf(name: string) {
  if (name === 'bucket') return { name, label: 'Date', kind: 'time', type: 'date' };
  const dimension = catalogOf(deskValue, 0).dimensions.find(({ id }) => id === name);
  return dimension === undefined
    ? { name, label: name, kind: 'metric', type: 'integer', unit: 'count' }
    : { name, label: dimension.label, kind: 'dimension', type: 'enum' };
}

const catalogOf = (named: DeskService['named'], maxRows: number) => ({
  registry_version: 7,
  metrics: METRICS.map((id) =>
    metricOf(id, { dimensions: [SPLIT_BY, 'profile.reason'], data_available: { from: '2020-01-01' } }),
  ),
  dimensions: [
    {
      id: SPLIT_BY,
      label: 'Group',
      description: '',
      type: 'enum',
      values: DESKS.map((n) => ({ value: named(n), label: `Desk ${named(n)}` })),
    },
    {
      id: 'profile.reason',
      label: 'Reason',
      description: '',
      type: 'enum',
      // A label that no font of the PDF has. It is explained on a separate page.
      values: REASONS.map((value) => ({ value, label: `Because of ${value} \u{13080}` })),
    },
  ],
  limits: { max_range_days: 366, max_dimensions: 2, max_rows: maxRows },
});
