import type { Period } from '../../../definitions/periods/period.ts';
import type { Section } from '../../../definitions/schema/report-definition.ts';
import type { Table } from '../../dataset.ts';

type SectionFields = Pick<
  Table,
  'id' | 'title' | 'description' | 'granularity' | 'period' | 'chart' | 'ordered' | 'ranked'
>;

/** The fields that a table copies from its section, wherever its data comes from. */
export const sectionFields = (section: Section, period: Period): SectionFields => ({
  id: section.id,
  title: section.title ?? section.id,
  ...(section.description === undefined ? {} : { description: section.description }),
  granularity: section.granularity ?? null,
  period,
  ...(section.chart === undefined ? {} : { chart: section.chart }),
  ...(section.order?.some(({ by }) => by !== 'bucket') ? { ordered: true } : {}),
  ...(isRanked(section) ? { ranked: true } : {}),
});

/** Without an order, rows are sorted by time, then by group. */
function isRanked({ order = [], granularity }: Section): boolean {
  const [first] = order;
  return first !== undefined && !(granularity !== undefined && first.by === 'bucket' && first.dir === 'asc');
}
