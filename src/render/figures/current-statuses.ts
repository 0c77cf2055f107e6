import type { Judgement, Status } from '../../fetch/dataset.ts';

/** The judgements of the present: of each figure over time only the last bucket. */
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
    // A figure with a judged total needs no bucket beside it.
    return judgement.bucket === null || (!totals.has(key) && judgement.bucket === last.get(key));
  });
}

/** Judgements that conditions look at. */
export const withoutIgnored = (judgements: readonly Judgement[]): readonly Judgement[] =>
  judgements.filter(({ few }) => few !== 'ignored');

/**
 * The number of present figures by status. The same figure in several sections counts once.
 * @param few of figures of few cases, which are counted apart
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

/** The present statuses by figure, to compare those of two runs: `kpis:alerts.open`, `kpis:alerts.open{profile.risk=high}`. */
export const statusesByFigure = (judgements: readonly Judgement[]): Readonly<Record<string, Status>> =>
  Object.fromEntries(
    currentJudgements(judgements).map(({ section, metric, group, status }) => [
      `${section}:${metric}${group === null ? '' : `{${group.dimension}=${group.value}}`}`,
      status,
    ]),
  );
