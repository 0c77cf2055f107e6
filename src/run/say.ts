import type { Log } from '../base/log.ts';
import type { Observe } from './event.ts';

/**
 * Says in the log what a run says of itself; each line with its stage.
 *
 * What left, and what did not, is for everybody to read (`info`, `warn`); the single calls and files are for who looks
 * for a fault (`debug`). No recipient is named: the delivery's id leads to the ledger, which knows.
 *
 * @param log the run's own, which knows run, organization and report
 */
export function sayRun(log: Log): Observe {
  let waits = false;
  return (event) => {
    switch (event.type) {
      case 'planned':
        return log.debug('Calls planned', { stage: 'plan', count: event.calls });
      case 'waiting': {
        const { call, ahead: count } = event;
        const fields = { stage: 'fetch', call, count, until: new Date(event.until).toISOString() };
        // Once a try: the others of its calls wait in the same line.
        if (waits) return log.debug('A call waits for a token of its API key', fields);
        waits = true;
        return log.info('The run waits for the budget of its API key', fields);
      }
      case 'fetched': {
        const { call, done: count, of, correlationId } = event;
        const named = correlationId ? { correlation_id: correlationId } : {};
        const fields = { stage: 'fetch', call, count, of, state: event.saved ? 'kept' : 'made', ...named };
        return log.debug('Call answered', fields);
      }
      case 'not_kept':
        return log.warn('No more answers of the run are kept: there is no room; if it is interrupted, it asks again', {
          stage: 'fetch',
          call: event.call,
        });
      case 'rendered':
        return log.debug('File made', { stage: 'render', path: event.name, count: event.bytes });
      case 'delivered': {
        const { target, state, detail, ms } = event;
        const fields = { stage: 'deliver', target, state, ...(ms === undefined ? {} : { ms }) };
        if (state === 'sent') return log.info('Delivered', fields);
        const why = detail === null ? {} : { why: detail };
        if (state === 'skipped') return log.info('Not delivered: its condition is not met', { ...fields, ...why });
        return log.warn('Not delivered', { ...fields, ...why });
      }
      case 'timed':
        return log.debug('Stage over', { stage: event.stage, ms: Math.round(event.ms) });
      default:
        return;
    }
  };
}
