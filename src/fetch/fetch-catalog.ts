import { done, type Outcome } from '../base/outcome.ts';
import type { Catalog } from '../contract/catalog.ts';
import { paidCall } from './paid-call.ts';
import { type FetchContext, type FetchPorts, lineOf } from './ports.ts';

/** The organization's catalog: the one that is held, or the service's own for one token. Snoozes and fails as a call does. */
export async function fetchCatalog(context: FetchContext, ports: FetchPorts): Promise<Outcome<Catalog>> {
  const { order, settings, signal, observe } = context;
  const { catalogs, client, key, budget } = ports;
  const held = await catalogs.get(key, settings.org);
  if (held !== undefined) return done(held);
  const paid = await paidCall(lineOf(context, ports, budget), {
    id: `${order.id}:catalog`,
    attempt: () => client.catalog(settings.org, signal),
    waiting: ({ at, ahead, tokens }) => observe({ type: 'waiting', call: 'catalog', until: at, ahead, tokens }),
    signal,
  });
  if (paid.kind !== 'done') return paid;
  await catalogs.put(key, settings.org, paid.value.value);
  return done(paid.value.value);
}
