import type { ReviewView } from '../../../../services/reviews/review-service.ts';
import { Table } from '../layout.tsx';

type References = ReviewView['sections'][number]['references'];

/** The endings of a reference that quote something other than the figure itself. */
const ASPECTS = ['change', 'previous', 'status'] as const;
type Aspect = (typeof ASPECTS)[number];

/** One figure of a section, and everything about it that can be quoted, in the form that the pack prints. */
export interface QuotableFigure {
  /** What to type: `{{ onboarding.profiles.created }}`. */
  readonly reference: string;
  /** Made of the names of its metric and groups. */
  readonly label: string;
  readonly value: string;
  readonly aspects: Readonly<Partial<Record<Aspect, string>>>;
}

/** The figures of a section in order, with their changes and statuses. */
export function quotableFigures(references: References): readonly QuotableFigure[] {
  const figures = new Map<
    string,
    { reference: string; label: string; value: string; aspects: Partial<Record<Aspect, string>> }
  >();
  for (const { reference, label, text } of references) {
    const path = /^\{\{\s*(.+?)\s*\}\}$/.exec(reference)?.[1] ?? reference;
    const aspect = ASPECTS.find((each) => path.endsWith(`.${each}`) && figures.has(path.slice(0, -each.length - 1)));
    const figure = aspect === undefined ? undefined : figures.get(path.slice(0, -aspect.length - 1));
    if (aspect === undefined || figure === undefined) figures.set(path, { reference, label, value: text, aspects: {} });
    else figure.aspects[aspect] = text;
  }
  return [...figures.values()];
}

interface FigureTableProps {
  readonly caption: string;
  readonly references: References;
}

/** The figures of a section, each with the reference that quotes it. */
export const FigureTable = ({ caption, references }: FigureTableProps) => {
  const figures = quotableFigures(references);
  if (figures.length === 0) return null;
  const shown = ASPECTS.filter((aspect) => figures.some(({ aspects }) => aspects[aspect] !== undefined));
  return (
    <Table
      caption={caption}
      columns={['Figure', 'Value', ...shown.map((aspect) => ASPECT_LABELS[aspect])]}
      classes={{ Value: 'number', Change: 'number', Before: 'number' }}
      class="figures"
    >
      {figures.map(({ reference, label, value, aspects }) => (
        <tr>
          <td class="wrap">
            {label} <code>{reference}</code>
          </td>
          <td data-name="Value" class="number">
            <strong>{value}</strong>
          </td>
          {shown.map((aspect) => (
            <td data-name={ASPECT_LABELS[aspect]} class={aspect === 'status' ? undefined : 'number'}>
              {aspects[aspect] ?? '–'}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
};

const ASPECT_LABELS = { change: 'Change', previous: 'Before', status: 'Status' } as const;
