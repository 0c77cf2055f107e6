import type { EarlierDelivery } from '../../../../services/runs/already-delivered.ts';
import { formatCounted, formatInteger } from '../format-numbers.ts';
import { RunLink } from '../run-table.tsx';
import { Timestamp } from '../time.tsx';

/** A note that another run has delivered the same period. */
export const EarlierDeliveryNote = ({
  earlier,
  zone,
}: {
  readonly earlier: EarlierDelivery | null;
  readonly zone: string;
}) => {
  if (earlier === null) return <p>Nothing: no other run on record has delivered this period.</p>;
  const { run, at, sent, uncertain } = earlier;
  const parts = [
    ...Object.entries(sent).map(([kind, count]) => `${formatInteger(count)} by ${kind}`),
    ...(uncertain === 0 ? [] : [`${formatCounted(uncertain, 'delivery', 'deliveries')} with unknown result`]),
  ];
  return (
    <p>
      Run <RunLink run={{ id: run }} />, <Timestamp at={at} zone={zone} />: {parts.join(', ')}.
    </p>
  );
};
