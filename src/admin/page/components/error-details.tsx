import type { ErrorJson } from '../../../base/error.ts';

/** Longer messages, e.g. about many recipients, are folded. */
const MAX_MESSAGE_LENGTH = 400;
const MAX_SUMMARY_LENGTH = 160;

/** An error: its message, the expected and the actual value, and what to do next. */
export const ErrorDetails = ({
  error,
  id,
  heading,
}: {
  readonly error: ErrorJson;
  readonly id?: string;
  readonly heading?: string;
}) => (
  <div class="error" role={id === undefined ? undefined : 'alert'} id={id}>
    {heading === undefined ? null : <strong>{heading}</strong>}
    {error.message.length > MAX_MESSAGE_LENGTH ? (
      <details class="fold">
        <summary>
          {error.message.slice(0, MAX_SUMMARY_LENGTH)}… <code>{error.code}</code>
        </summary>
        <p>{error.message}</p>
      </details>
    ) : (
      <p>
        {error.message} <code>{error.code}</code>
      </p>
    )}
    <dl>
      <DetailRow name="Where" value={error.where} />
      <DetailRow name="Expected" value={error.expected} />
      <DetailRow name="Got" value={error.got} />
      <DetailRow name="Correlation id" value={error.correlation_id} />
      <DetailRow name="Do next" value={error.next} />
    </dl>
  </div>
);

const DetailRow = ({ name, value }: { readonly name: string; readonly value: string | undefined }) =>
  value === undefined ? null : (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
