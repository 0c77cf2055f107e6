import type { ErrorJson } from '../../base/error.ts';

/** An error in the words of the table: the sentence, what was expected and got, and what to do next. */
export const Fault = ({
  error,
  id,
  heading,
}: {
  readonly error: ErrorJson;
  readonly id?: string;
  readonly heading?: string;
}) => (
  <div class="fault" role={id === undefined ? undefined : 'alert'} id={id}>
    {heading === undefined ? null : <strong>{heading}</strong>}
    <p>
      {error.message} <code>{error.code}</code>
    </p>
    <dl>
      <Line name="Where" value={error.where} />
      <Line name="Expected" value={error.expected} />
      <Line name="Got" value={error.got} />
      <Line name="Correlation id" value={error.correlation_id} />
      <Line name="Do next" value={error.next} />
    </dl>
  </div>
);

const Line = ({ name, value }: { readonly name: string; readonly value: string | undefined }) =>
  value === undefined ? null : (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
