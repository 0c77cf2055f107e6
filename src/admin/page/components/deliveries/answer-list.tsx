import type { DeliveryRow } from '../../../../services/deliveries/decisions.ts';
import { formatCounted } from '../format-numbers.ts';
import { Timestamp } from '../time.tsx';

interface AnswersProps {
  readonly rows: readonly DeliveryRow[];
  readonly zone: string;
  /** Ids whose boxes are checked. Undefined: there are no boxes. */
  readonly selected?: readonly string[];
}

/** Further answers are only counted, to keep the page small. */
export const MAX_ANSWERS = 50;

/** Each delivery with the last response of its server. If all got the same response, it is shown once. */
export const AnswerList = ({ rows, zone, selected }: AnswersProps) => {
  const [first] = rows;
  const isSame = rows.length > 1 && rows.every(({ detail }) => detail === first?.detail);
  return (
    <>
      {isSame && first !== undefined ? (
        <p>
          Last reply, the same for all {rows.length}: <span class="quoted">{first.detail ?? 'none'}</span>
        </p>
      ) : null}
      <ul class="answers">
        {rows.slice(0, MAX_ANSWERS).map(({ id, recipient, target, detail, at }) => (
          <li class={selected === undefined ? '' : 'choice'}>
            {selected === undefined ? null : (
              <input type="checkbox" name="delivery" value={id} id={`pick-${id}`} checked={selected.includes(id)} />
            )}
            <div>
              {selected === undefined ? (
                <a class="wrap" href={`/deliveries/${id}`}>
                  {recipient}
                </a>
              ) : (
                <label class="wrap" for={`pick-${id}`}>
                  {recipient}
                </label>
              )}{' '}
              <span class="muted target">{target}</span>{' '}
              <span class="muted">
                <Timestamp at={at} zone={zone} seconds />
              </span>
              {isSame ? null : <p class="quote">{detail ?? 'The server gave no reply.'}</p>}
            </div>
          </li>
        ))}
      </ul>
      {rows.length <= MAX_ANSWERS ? null : (
        <p class="muted">
          {formatCounted(rows.length - MAX_ANSWERS, 'more delivery', 'more deliveries')}:{' '}
          <code>docket deliveries --run {first?.run.slice(0, 8)}</code> lists all.
        </p>
      )}
    </>
  );
};
