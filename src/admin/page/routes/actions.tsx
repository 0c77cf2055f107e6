import { createHash } from 'node:crypto';
import type { Hono } from 'hono';
import { z } from 'zod';
import { DocketError, toDocketError } from '../../../base/error.ts';
import { formatPeriodArgument, parsePeriod } from '../../../definitions/periods/period.ts';
import type { PeriodSpec } from '../../../definitions/schema/report-definition.ts';
import { isReportDelivery } from '../../../services/deliveries/decision-rules.ts';
import { SWITCH_KINDS } from '../../../services/switches/switch-service.ts';
import type { Access } from '../../access/access.ts';
import type { Env } from '../../hono-env.ts';
import { toProblemResponse } from '../../problem.ts';
import { incompleteForm, type PageContext, parseReason, readFormFields, safeRedirectPath } from './page-context.ts';
import { REVIEW_ACTIONS } from './review-actions.ts';
import { decideSelected, previewSelected } from './selection-actions.ts';
import {
  type ShowView,
  showCorrection,
  showDeliveries,
  showDelivery,
  showDenied,
  showOverview,
  showPauses,
  showReport,
  showRun,
  showRuns,
  showSelection,
} from './views.tsx';

/** The number of runs that the overview groups. */
const MAX_RETRIED = 200;

type FormFields = Readonly<Record<string, string>>;

/**
 * Adds the actions. Each one redirects with 303, so reloading does not repeat it. A rejection is shown on the page of
 * the form, with the submitted values.
 */
export function addActions(app: Hono<Env>, page: PageContext): void {
  /** @param perform returns the path to redirect to */
  const action = (
    path: string,
    show: (fields: FormFields) => ShowView,
    perform: (access: Access, fields: FormFields, parameters: FormFields) => Promise<string>,
  ) => {
    app.post(path, async (context) => {
      const fields = await readFormFields(context);
      try {
        return context.redirect(await perform(page.access(context), fields, context.req.param() as FormFields), 303);
      } catch (thrown) {
        const status =
          thrown instanceof DocketError
            ? INLINE_STATUSES.find((each) => each === toProblemResponse(thrown).status)
            : undefined;
        if (!(thrown instanceof DocketError) || status === undefined) throw thrown;
        const { csrf: _, ...values } = fields;
        const refused = { action: context.req.path, values, error: thrown.toJSON() };
        return show(fields)(page, context, { refused, status });
      }
    });
  };

  action(
    '/reports/:org/:report/run',
    () => showReport,
    async (access, fields, { org = '', report = '' }) => {
      const period = parsePeriodFields(fields);
      const { deliver } = fields;
      const again = fields.again === 'yes';
      const value = fields.value ? fields.value : undefined;
      if (deliver !== 'yes' && deliver !== 'no')
        throw incompleteForm('Choose whether the files are delivered.', 'one of the two choices');
      const { opened, record } = await access.trigger(org, report, {
        period,
        value,
        deliver: deliver === 'yes',
        priority: 'on_demand',
        again,
        unfinished: fields.unfinished === 'yes',
        idempotencyKey: deriveIdempotencyKey(fields, { period, value, deliver, ...(again ? { again } : {}) }),
      });
      return `/runs/${record.id}?did=${opened ? 'opened' : 'repeated'}`;
    },
  );

  for (const what of ['pause', 'resume'] as const) {
    const show = ({ from }: FormFields): ShowView => (from === '/pauses' ? showPauses : showReport);
    action(`/reports/:org/:report/${what}`, show, async (access, fields, { org = '', report = '' }) => {
      await access[what](org, report, parseReason(fields.reason));
      return `${safeRedirectPath(fields.from)}?did=${what}d`;
    });
    action(
      `/organizations/:org/${what}`,
      () => showPauses,
      async (access, fields, { org = '' }) => {
        await access[what](org, null, parseReason(fields.reason));
        return `/pauses?did=${what}d`;
      },
    );
  }

  for (const kind of SWITCH_KINDS) {
    for (const path of ['/organizations/:org', '/pauses']) {
      const toSwitchTarget = ({ org = null }: { readonly org?: string | null }) => ({ kind, org });
      action(
        `${path}/${kind}`,
        () => showPauses,
        async (access, fields, parameters) => {
          await access.setSwitch(toSwitchTarget(parameters), parseReason(fields.reason));
          return `/pauses?did=${kind === 'stop' ? 'stopped' : 'held'}`;
        },
      );
      action(
        `${path}/release-${kind}`,
        () => showPauses,
        async (access, fields, parameters) => {
          const [also, except] = [parseIds(fields.also), parseIds(fields.except)];
          await access.releaseSwitch(toSwitchTarget(parameters), parseReason(fields.reason), { also, except });
          return `/pauses?did=${kind}-released`;
        },
      );
    }
  }

  action(
    '/denied',
    () => showDenied,
    async (access, { text = '', reason }) => {
      await access.deny(text, parseReason(reason));
      return '/denied?did=denied';
    },
  );
  action(
    '/denied/:name/remove',
    () => showDenied,
    async (access, { reason }, { name = '' }) => {
      await access.allow(name, parseReason(reason));
      return '/denied?did=allowed';
    },
  );

  for (const what of ['cancel', 'retry', 'release'] as const) {
    action(
      `/runs/:id/${what}`,
      () => showRun,
      async (access, fields, { id = '' }) => {
        await access.decide(id, what, parseReason(fields.reason));
        return `/runs/${id}?did=${what}`;
      },
    );
  }

  action('/selections', ({ of }) => (of === 'deliveries' ? showDeliveries : showRuns), previewSelected);
  action(
    '/selections/:digest/decide',
    () => showSelection,
    (access, fields, { digest = '' }) => decideSelected(access, fields, digest),
  );

  action(
    '/runs/again',
    () => showOverview,
    async (access, fields) => {
      const results = await Promise.allSettled(
        selectedRuns(fields).map(async (id) => {
          const { org, report, period, deliver } = await access.run(id);
          const of = { period: parsePeriod(formatPeriodArgument(period)), deliver };
          const idempotencyKey = deriveIdempotencyKey({ trigger: id }, of);
          await access.trigger(org, report, { ...of, priority: 'on_demand', again: false, idempotencyKey });
        }),
      );
      const failed = results.flatMap((each) => (each.status === 'rejected' ? [toDocketError(each.reason)] : []));
      // Runs whose period was delivered meanwhile need no new run.
      const serious = failed.find(({ code }) => code !== 'already_delivered');
      if (serious !== undefined) throw serious;
      return '/?did=opened-many';
    },
  );

  for (const [what, perform] of Object.entries(REVIEW_ACTIONS)) {
    action(
      `/runs/:id/${what}`,
      () => showRun,
      (access, fields, { id = '' }) => perform(access, fields, id),
    );
  }

  action(
    '/runs/:id/deliveries/resolve',
    () => showRun,
    async (access, fields, { id = '' }) => {
      const reason = parseReason(fields.reason);
      const as = parseResolution(fields);
      const chosen = fields.which === 'all' ? await requireUndecided(access, id, fields) : selectedDeliveries(fields);
      const rows = await access.resolveMany(id, chosen, as, reason);
      return `/runs/${id}?did=${as}${rows.length === 1 ? '' : '-many'}`;
    },
  );

  action(
    '/runs/:id/recipients',
    () => showRun,
    async (access, fields, { id = '' }) => {
      const to = fields.to?.trim() ?? '';
      if (to === '') throw incompleteForm('The address is missing.', 'an e-mail address');
      // The choice names target and address, because one person may get several e-mails of a run.
      const [named, replaces] = (fields.replaces ?? '').split(' ');
      const target = replaces === undefined ? fields.target : named;
      const { waits, line } = await access.sendTo(id, { to, replaces, target }, parseReason(fields.reason));
      const fix = line === null ? '' : `&line=${line.at.slice(line.at.lastIndexOf(':') + 1)}`;
      return `/runs/${id}?did=${waits === null ? 'recipient' : 'recipient-waits'}${fix}`;
    },
  );
  for (const as of ['approved', 'rejected'] as const) {
    action(
      `/runs/:id/recipients/:delivery/${as}`,
      () => showRun,
      async (access, fields, { id = '', delivery = '' }) => {
        const { waits } = await access.decideRecipient(id, delivery, as === 'approved', parseReason(fields.reason));
        const did = waits === null ? 'recipient' : `recipient-${waits.state === 'rejected' ? 'rejected' : 'waits'}`;
        return `/runs/${id}?did=${did}`;
      },
    );
  }

  action(
    '/runs/:id/correct',
    () => showRun,
    async (access, fields, { id = '' }) => {
      const { comment = '', definition } = fields;
      const request = {
        ...(comment.trim() === '' ? {} : { comment }),
        definition: definition === 'current' ? ('current' as const) : ('delivered' as const),
      };
      const { run } = await access.openCorrection(id, request, parseReason(fields.reason));
      return `/runs/${run}?did=correction`;
    },
  );
  action(
    '/corrections/:id/send',
    () => showCorrection,
    async (access, fields, { id = '' }) => {
      const { run } = await access.sendCorrection(id, parseReason(fields.reason));
      return `/runs/${run}?did=correction`;
    },
  );
  action(
    '/corrections/:id/dismiss',
    () => showCorrection,
    async (access, fields, { id = '' }) => {
      await access.dismissCorrection(id, parseReason(fields.reason));
      return '/corrections?did=dismissed';
    },
  );

  action(
    '/deliveries/:id/resolve',
    ({ from }) => (from === '/deliveries' ? showDeliveries : showDelivery),
    async (access, fields, { id = '' }) => {
      const reason = parseReason(fields.reason);
      const as = parseResolution(fields);
      const row = await access.resolve(id, as, reason);
      return `${safeRedirectPath(fields.from)}?did=${as}${as === 'resend' ? `&delivery=${row.id}` : ''}`;
    },
  );
}

/** Rejections with these statuses are shown beside the form, others as a problem page. */
const INLINE_STATUSES = [400, 403, 404, 409, 422] as const;

function parseResolution({ as }: FormFields): 'sent' | 'resend' {
  if (as === 'sent' || as === 'resend') return as;
  throw incompleteForm('Choose whether it arrived.', 'one of the choices');
}

function selectedDeliveries({ delivery = '' }: FormFields): readonly string[] {
  const ids = delivery.split(',').filter((id) => /^[0-9a-f]{32}$/.test(id));
  if (ids.length > 0) return ids;
  throw incompleteForm('Select the deliveries to decide about, or decide about all.', 'one delivery or more');
}

/** All undecided deliveries of a run, if their number is still the one that the form showed. */
async function requireUndecided(access: Access, run: string, { shown }: FormFields): Promise<readonly string[]> {
  const { deliveries } = await access.deliveries({ run, limit: 1 });
  const undecided = deliveries.filter((row) => row.state === 'unknown' && isReportDelivery(row));
  if (undecided.length === Number(shown) && undecided.length > 0) return undecided.map(({ id }) => id);
  throw new DocketError('delivery.conflict', 'The deliveries have changed in the meantime.', {
    expected: `${shown ?? 'no'} deliveries to decide about, as the form showed`,
    got: String(undecided.length),
    next: 'Check those that are shown now, then decide again.',
  });
}

/** The period of the form. Exact days come before a named period. Undefined: the period of the definition. */
function parsePeriodFields({ period = '', from = '', to = '' }: FormFields): PeriodSpec | undefined {
  if (from !== '' || to !== '') {
    if (from === '' || to === '')
      throw incompleteForm('One of the two days is missing.', 'the first and the last day, or neither');
    return parsePeriod(`${from}..${to}`);
  }
  return period === '' ? undefined : parsePeriod(period);
}

/** The runs that the form selected. */
function selectedRuns(fields: FormFields): readonly string[] {
  const runs = z
    .array(z.string().regex(/^[0-9a-f]{32}$/))
    .min(1)
    .max(MAX_RETRIED)
    .safeParse(fields.run?.split(','));
  if (!runs.success) throw incompleteForm('Choose the runs.', `1 to ${MAX_RETRIED} runs`);
  return runs.data;
}

/** The ids of the ticked boxes; empty if there are none. */
const parseIds = (text: string | undefined): readonly string[] =>
  text === undefined || text === '' ? [] : text.split(',');

/** The same form with the same choices gives the same key. Other choices give another one. */
const deriveIdempotencyKey = ({ trigger = '' }: FormFields, request: unknown): string =>
  `page-${createHash('sha256')
    .update(JSON.stringify([trigger, request]))
    .digest('hex')
    .slice(0, 32)}`;
