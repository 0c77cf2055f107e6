import type { Judgement, Status } from '../../fetch/dataset.ts';

/** Reduces judgements to the present: of each figure over time, only the last bucket counts. */
export function currentJudgements(judgements: readonly Judgement[]): readonly Judgement[] {
  const keyOf = ({ section, metric, group }: Judgement) => JSON.stringify([section, metric, group]);
  const last = new Map<string, string>();
  for (const judgement of judgements) {
    const { bucket } = judgement;
    const key = keyOf(judgement);
    if (bucket !== null && bucket > (last.get(key) ?? '')) last.set(key, bucket);
  }
  const totals = new Set(judgements.filter(({ bucket }) => bucket === null).map(keyOf));
  return judgements.filter((judgement) => {
    const key = keyOf(judgement);
    // If a figure has a judged total, its buckets do not count as well.
    return judgement.bucket === null || (!totals.has(key) && judgement.bucket === last.get(key));
  });
}

/** The judgements that conditions use: figures with few cases may be excluded. */
export const withoutIgnored = (judgements: readonly Judgement[]): readonly Judgement[] =>
  judgements.filter(({ few }) => few !== 'ignored');

/**
 * Counts present figures by status. The same figure in several sections counts once.
 * @param few counts only figures with few cases, or only the others
 */
export function countStatuses(
  judgements: readonly Judgement[],
  few = false,
): Readonly<Partial<Record<Status, number>>> {
  const counts: Partial<Record<Status, number>> = {};
  const counted = judgements.filter((judgement) => (judgement.few !== undefined) === few);
  const figures = new Map(
    currentJudgements(counted).map(({ metric, bucket, group, figure, target, status, key }) => [
      JSON.stringify(key === undefined ? [metric, bucket, group, figure, target] : [key, figure]),
      status,
    ]),
  );
  for (const status of figures.values()) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The present statuses by figure, to compare two runs: `kpis:alerts.open`, `kpis:alerts.open{profile.risk=high}`. */
export const statusesByFigure = (judgements: readonly Judgement[]): Readonly<Record<string, Status>> =>
  Object.fromEntries(
    currentJudgements(judgements).map(({ section, metric, group, status }) => [
      `${section}:${metric}${group === null ? '' : `{${group.dimension}=${group.value}}`}`,
      status,
    ]),
  );
