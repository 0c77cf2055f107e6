/** The parts of a delivery that a listing of a run's deliveries shows. */
export interface ListedDelivery {
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  readonly recipient: string;
  readonly state: string;
  readonly detail: string | null;
}

/** Maximum recipients to name if nothing needs to be done about them. */
const MAX_NAMED = 3;

/** The target without the value of a pack: `0-email` of `0-email:retail-1f0e`. */
const stemOf = ({ target }: ListedDelivery): string => target.replace(/:.*/, '');

/**
 * Groups the deliveries of a target that have the same result, in the order in which they first appear. With `split`,
 * those of all packs are together.
 */
export function groupDeliveries<Delivery extends ListedDelivery>(
  deliveries: readonly Delivery[],
): readonly Delivery[][] {
  const groups = new Map<string, Delivery[]>();
  for (const delivery of deliveries) {
    const { state, detail } = delivery;
    // For sent deliveries, the server's response differs between recipients and does not matter.
    const key = JSON.stringify([stemOf(delivery), state, state === 'sent' ? null : detail]);
    groups.set(key, [...(groups.get(key) ?? []), delivery]);
  }
  return [...groups.values()];
}

/**
 * One line for the recipients of a target with the same result: `sent     0-email → a@acme.example, b@… and 38 more`.
 * Recipients who may not get it are all named, with the reason.
 */
export const deliveryLines = (deliveries: readonly ListedDelivery[]): readonly string[] =>
  groupDeliveries(deliveries).map(formatGroup);

function formatGroup(group: readonly ListedDelivery[]): string {
  const [first] = group;
  if (first === undefined) return '';
  const { state, detail } = first;
  const recipients = group.map(({ recipient }) => recipient);
  const hidden = state === 'sent' && recipients.length > MAX_NAMED + 1 ? recipients.length - MAX_NAMED : 0;
  const named = recipients.slice(0, recipients.length - hidden).join(', ');
  const reason = detail === null || state === 'sent' ? '' : `: ${detail}`;
  return `${state.padEnd(8)} ${group.length === 1 ? first.target : stemOf(first)} → ${named}${hidden === 0 ? '' : ` and ${hidden} more`}${reason}`;
}
