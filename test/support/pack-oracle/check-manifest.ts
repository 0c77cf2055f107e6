import { expect } from 'vitest';
import { z } from 'zod';
import type { Checked, PackToCheck } from './checked.ts';
import type { ExpectedSection, ReadFigure } from './expected.ts';
import type { GivenTarget } from './judged.ts';

// Checks the fields of `manifest.json` that judge figures, as docs/internals/statuses.md names them. It uses nothing of
// src/.

const group = z.object({ dimension: z.string(), value: z.string() });
const days = z.object({ from: z.string(), to: z.string() });
const manifestSchema = z.object({
  period: days,
  section_periods: z.record(z.string(), days).default({}),
  targets: z
    .array(
      z.strictObject({
        metric: z.string(),
        where: group.optional(),
        per: z.string().optional(),
        better: z.string(),
        target: z.number(),
        watch: z.number().optional(),
        from: z.string().optional(),
        source: z.enum(['organization', 'report']),
      }),
    )
    .default([]),
  judgements: z
    .array(
      z.strictObject({
        section: z.string(),
        metric: z.string(),
        bucket: z.string().nullable(),
        group: group.nullable(),
        figure: z.number().nullable(),
        status: z.enum(['on_target', 'watch', 'breached', 'undefined']),
        soFar: z.literal(true).optional(),
        few: z.literal(true).optional(),
        target: z.int().nonnegative(),
        key: z.string(),
      }),
    )
    .default([]),
  readings: z
    .array(
      z.strictObject({
        section: z.string(),
        of: z.enum(['rows', 'totals']),
        bucket: z.string().nullable(),
        comparison: z.string().nullable(),
        day: z.string(),
        question: z.string(),
        as_of: z.string().nullable(),
        correlation_id: z.string().nullable(),
      }),
    )
    .default([]),
  headlines: z.array(z.string()).default([]),
});

const recordOf = ({ metric, where, per, better, target, watch, from, report }: GivenTarget) => ({
  metric,
  where,
  per,
  better,
  target,
  watch,
  from,
  source: report ? 'report' : 'organization',
});

const readingsOf = ({ id: section, rows, totalRead = [] }: ExpectedSection) => {
  const recordOf = (of: 'rows' | 'totals', bucket: string | null, { kind, question, day, at, id }: ReadFigure) => ({
    section,
    of,
    bucket,
    comparison: kind,
    day,
    question,
    as_of: at,
    correlation_id: id,
  });
  // The groups of a bucket share a reading.
  const byBucket = new Map(rows.map(({ bucket, read = [] }) => [bucket, read]));
  return [
    ...[...byBucket].flatMap(([bucket, read]) => read.map((one) => recordOf('rows', bucket, one))),
    ...totalRead.map((one) => recordOf('totals', null, one)),
  ];
};
const inOrder = (list: readonly unknown[]): string[] => list.map((one) => JSON.stringify(one)).sort();

/**
 * Checks every judgement with its figure, status and target, every reading, and the days of each section. Returns the
 * headlines.
 * @param text of `manifest.json`
 */
export function checkManifest(text: string, { sections, judged, targets }: PackToCheck, checked: Checked): string[] {
  const manifest = manifestSchema.parse(JSON.parse(text));
  const known = targets.map(recordOf);
  for (const target of manifest.targets) expect(known).toContainEqual(target);
  const keyOf = (one: { section: string; metric: string; bucket: string | null; group: unknown }): string =>
    JSON.stringify([one.section, one.metric, one.bucket, one.group]);
  const found = manifest.judgements
    .map(({ target, key: _, ...one }) => ({ ...one, target: manifest.targets[target] }))
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const expected = judged
    .map(({ target, group: value, ...one }) => ({
      ...one,
      group: value === null ? null : { dimension: target.where?.dimension ?? '', value },
      target: recordOf(target),
    }))
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  expect(found).toEqual(expected);
  expect(inOrder(manifest.readings)).toEqual(inOrder(sections.flatMap(readingsOf)));
  checked.readings += manifest.readings.length;
  for (const { status } of judged) checked.byStatus[status] += 1;
  for (const { id, range } of sections) {
    if (range === undefined) continue;
    expect(manifest.section_periods[id] ?? manifest.period, id).toEqual(range);
  }
  return manifest.headlines;
}
