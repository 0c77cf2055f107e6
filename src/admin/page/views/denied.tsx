import { ErrorDetails } from '../components/error-details.tsx';
import { formatInteger } from '../components/format-numbers.ts';
import { Csrf, canAct, EmptyState, PageLayout, Section, Table, type ViewProps } from '../components/layout.tsx';
import { When } from '../components/time.tsx';
import { ReasonForm, ReasonInput } from '../forms/reason-form.tsx';
import type { Loaded, loadDenied } from '../routes/loaders.ts';

/** Further entries are only counted, to keep the page small. */
const MAX_SHOWN = 200;

/** The deny list of the deployment. */
export const Denied = ({ layout, data: { denied, refused }, notice }: ViewProps<Loaded<typeof loadDenied>>) => {
  const shown = denied.slice(-MAX_SHOWN).toReversed();
  const rejected = refused?.action === '/denied' ? refused : undefined;
  return (
    <PageLayout layout={layout} title="Deny list" notice={notice}>
      <h1>Deny list</h1>
      <p class="lead">
        These addresses and domains get no report and no notice, wherever they are named. Other recipients still get
        theirs. <code>docket recipients --of</code> shows where an address is named.
      </p>
      {shown.length === 0 ? (
        <EmptyState>Nobody is denied.</EmptyState>
      ) : (
        <Table caption="Denied addresses and domains, newest first" columns={['Denied', 'Since', 'By', 'Reason', '']}>
          {shown.map(({ name, since, by, reason }) => (
            <tr>
              <td>
                <a class="wrap" href={`/deliveries?to=${encodeURIComponent(name)}`}>
                  {name}
                </a>
              </td>
              <td data-name="Since">
                <When at={since} zone={layout.zone.name} now={layout.now} />
              </td>
              <td data-name="By">{by}</td>
              <td data-name="Reason" class="wrap">
                {reason}
              </td>
              <td>
                {canAct(layout) ? (
                  <ReasonForm
                    layout={layout}
                    action={`/denied/${encodeURIComponent(name)}/remove`}
                    from="/denied"
                    label="Remove"
                    question={`Why may ${name} get mail again?`}
                    refused={refused}
                  />
                ) : null}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {denied.length <= MAX_SHOWN ? null : (
        <p class="more">
          {formatInteger(denied.length - MAX_SHOWN)} more: <code>docket deny</code> lists all.
        </p>
      )}
      {canAct(layout) ? (
        <Section id="deny" heading="Deny">
          <form method="post" action="/denied" class="resolve">
            <Csrf layout={layout} />
            {rejected === undefined ? null : (
              <ErrorDetails error={rejected.error} id="deny-error" heading="Nothing was changed" />
            )}
            <label for="deny-text">Addresses and domains, one per line</label>
            <textarea id="deny-text" name="text" rows={4} required spellcheck={false}>
              {rejected?.values.text ?? ''}
            </textarea>
            <p class="hint">
              Or CSV with the columns address and reason. A domain covers no sub-domains.{' '}
              <code>docket deny --file</code> imports longer lists.
            </p>
            <ReasonInput id="deny-reason" question="Why?" value={rejected?.values.reason} />
            <p class="hint">Recorded under your name, {layout.principal.name}.</p>
            <button type="submit" class="danger">
              Deny them
            </button>
          </form>
        </Section>
      ) : null}
    </PageLayout>
  );
};
