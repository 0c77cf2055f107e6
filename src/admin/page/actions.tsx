import { createHash } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { DocketError } from '../../base/error.ts';
import type { PeriodSpec } from '../../define/definition.ts';
import { parsePeriod } from '../../define/period.ts';
import type { Access } from '../access.ts';
import { reasonSchema } from '../api/declare.ts';
import type { Env } from '../env.ts';
import { problemOf } from '../problem.ts';
import type { Desk } from './desk.ts';
import { fieldsOf, ownPath } from './form.ts';
import { type Shown, showDeliveries, showDelivery, showPauses, showReport, showRun } from './views.tsx';

type Fields = Readonly<Record<string, string>>;
type Show = (desk: Desk, context: Context<Env>, shown: Shown) => Promise<Response>;

/**
 * What can be done. Each goes back to a page with 303, so that loading that anew does nothing twice; what is refused is
 * shown on the page where it was asked for, with what was filled in.
 */
export function addActions(app: Hono<Env>, desk: Desk): void {
  /** @param act does it; where to go on */
  const action = (
    path: string,
    show: (fields: Fields) => Show,
    act: (access: Access, fields: Fields, parameters: Fields) => Promise<string>,
  ) => {
    app.post(path, async (context) => {
      const fields = await fieldsOf(context);
      try {
        return context.redirect(await act(desk.access(context), fields, context.req.param() as Fields), 303);
      } catch (thrown) {
        const status =
          thrown instanceof DocketError ? STATUS.find((each) => each === problemOf(thrown).status) : undefined;
        if (!(thrown instanceof DocketError) || status === undefined) throw thrown;
        const { csrf: _, ...values } = fields;
        const refused = { action: context.req.path, values, error: thrown.toJSON() };
        return show(fields)(desk, context, { refused, status });
      }
    });
  };

  action(
    '/reports/:org/:report/run',
    () => showReport,
    async (access, fields, { org = '', report = '' }) => {
      const period = periodOf(fields);
      const { deliver } = fields;
      const again = fields.again === 'yes';
      if (deliver !== 'yes' && deliver !== 'no')
        throw incomplete('Say whether the files are delivered.', 'one of the two choices');
      const { opened, record } = await access.trigger(org, report, {
        ...(period === undefined ? {} : { period }),
        deliver: deliver === 'yes',
        priority: 'on_demand',
        again,
        idempotencyKey: keyOf(fields, { period, deliver, ...(again ? { again } : {}) }),
      });
      return `/runs/${record.id}?did=${opened ? 'opened' : 'repeated'}`;
    },
  );

  for (const what of ['pause', 'resume'] as const) {
    const show = ({ from }: Fields): Show => (from === '/pauses' ? showPauses : showReport);
    action(`/reports/:org/:report/${what}`, show, async (access, fields, { org = '', report = '' }) => {
      await access[what](org, report, reasonOf(fields));
      return `${ownPath(fields.from)}?did=${what}d`;
    });
    action(
      `/organizations/:org/${what}`,
      () => showPauses,
      async (access, fields, { org = '' }) => {
        await access[what](org, null, reasonOf(fields));
        return `/pauses?did=${what}d`;
      },
    );
  }

  for (const what of ['cancel', 'retry', 'release'] as const) {
    action(
      `/runs/:id/${what}`,
      () => showRun,
      async (access, fields, { id = '' }) => {
        await access.decide(id, what, reasonOf(fields));
        return `/runs/${id}?did=${what}`;
      },
    );
  }

  action(
    '/deliveries/:id/resolve',
    ({ from }) => (from === '/deliveries' ? showDeliveries : showDelivery),
    async (access, fields, { id = '' }) => {
      const reason = reasonOf(fields);
      const { as } = fields;
      if (as !== 'sent' && as !== 'resend') throw incomplete('Say what became of the delivery.', 'one of the choices');
      const row = await access.resolve(id, as, reason);
      return `${ownPath(fields.from)}?did=${as}${as === 'resend' ? `&delivery=${row.id}` : ''}`;
    },
  );
}

/** Refusals that the page shows in their place; everything else has a page of its own. */
const STATUS = [400, 403, 404, 409, 422] as const;

const incomplete = (message: string, expected: string) =>
  new DocketError('usage.invalid', message, { expected, next: 'Fill it in and send the form again.' });

function reasonOf({ reason }: Fields): string {
  const parsed = reasonSchema.safeParse(reason);
  if (parsed.success) return parsed.data;
  throw incomplete('A reason is needed: whoever looks later wants to know.', 'one line of 1 to 500 characters');
}

/** The days of the form: exact ones before a name; undefined where the definition says them. */
function periodOf({ period = '', from = '', to = '' }: Fields): PeriodSpec | undefined {
  if (from !== '' || to !== '') {
    if (from === '' || to === '')
      throw incomplete('One of the two days is missing.', 'the first day and the last one, or neither');
    return parsePeriod(`${from}..${to}`);
  }
  return period === '' ? undefined : parsePeriod(period);
}

/** The same form with the same choices is the same request, however often it is sent; with others it is another. */
const keyOf = ({ trigger = '' }: Fields, request: unknown): string =>
  `page-${createHash('sha256')
    .update(JSON.stringify([trigger, request]))
    .digest('hex')
    .slice(0, 32)}`;
