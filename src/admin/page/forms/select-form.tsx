import type { PropsWithChildren } from 'hono/jsx';
import type { SelectionAction } from '../../../queue/runs/selections.ts';
import { Csrf, canAct, type LayoutData } from '../components/layout.tsx';

/** The name of each decision, on the button and on its page. */
export const ACTION_LABELS: Readonly<Record<SelectionAction, string>> = {
  cancel: 'Cancel',
  retry: 'Retry',
  release: 'Release',
  resend: 'Send again',
  sent: 'Mark as sent',
};

interface SelectProps {
  readonly layout: LayoutData;
  readonly actions: readonly SelectionAction[];
  /** A word for the rows, e.g. `runs`. */
  readonly what: string;
  /** The filters of the list. Without any, only single rows can be selected. */
  readonly filter: Readonly<Record<string, string | number | undefined>>;
}

/**
 * A form around a table with boxes. Decides about the selected rows, or about all that match the filters, after a
 * preview. Works without a script. Viewers only see the table.
 */
export const SelectForm = ({ layout, actions, what, filter, children }: PropsWithChildren<SelectProps>) => {
  const conditions = Object.entries(filter).filter(([, value]) => value !== undefined);
  if (!canAct(layout)) return <>{children}</>;
  return (
    <form method="post" action="/selections">
      <Csrf layout={layout} />
      <input type="hidden" name="of" value={what} />
      {conditions.map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      {children}
      <div class="filter">
        <label>
          Decide about many
          <select name="action">
            {actions.map((action) => (
              <option value={action}>{ACTION_LABELS[action]}</option>
            ))}
          </select>
        </label>
        <button type="submit" name="which" value="selected">
          Preview selected {what}…
        </button>
        {conditions.length === 0 ? null : (
          <button type="submit" name="which" value="all">
            Preview all that match…
          </button>
        )}
      </div>
    </form>
  );
};
