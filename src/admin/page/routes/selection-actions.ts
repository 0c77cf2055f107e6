import { z } from 'zod';
import { SELECTION_ACTIONS } from '../../../queue/runs/selections.ts';
import { RUN_STATES } from '../../../run/run-record.ts';
import { MAX_SELECTED } from '../../../services/selections/selection-service.ts';
import type { Access } from '../../access/access.ts';
import type { SelectionInput } from '../../access/selections.ts';
import { incompleteForm, parseReason } from './page-context.ts';

type FormFields = Readonly<Record<string, string>>;

const idsSchema = z
  .array(z.string().regex(/^[0-9a-f]{32}$/))
  .min(1)
  .max(MAX_SELECTED);
const text = z.string().trim().min(1).max(200).optional();
const epochMs = z.coerce.number().int().nonnegative().optional();
/** The filters of a list, which its form repeats. */
const filterSchema = z.object({
  org: text,
  report: text,
  match: text,
  to: text,
  period: text,
  error: text,
  state: z.enum(RUN_STATES).optional(),
  since: epochMs,
  until: epochMs,
});

/**
 * Previews a decision about the selected rows, or about all that match the filters. @returns the path of the preview
 */
export async function previewSelected(access: Access, fields: FormFields): Promise<string> {
  const { digest } = await access.previewSelection(readSelection(fields));
  return `/selections/${digest}`;
}

/** Carries out a previewed decision. @returns the path of the result */
export async function decideSelected(access: Access, fields: FormFields, digest: string): Promise<string> {
  await access.decideSelection(digest, parseReason(fields.reason));
  return `/selections/${digest}`;
}

function readSelection(fields: FormFields): SelectionInput {
  const action = z.enum(SELECTION_ACTIONS).safeParse(fields.action);
  if (!action.success) throw incompleteForm('Choose what is decided.', 'one of the choices');
  if (fields.which === 'all') {
    const filter = filterSchema.safeParse(fields);
    if (!filter.success) throw incompleteForm('The filters cannot be used.', 'the filters of the list');
    const { state, ...rest } = filter.data;
    return { action: action.data, filter: { ...rest, states: state === undefined ? undefined : [state] } };
  }
  const ids = idsSchema.safeParse((fields.run ?? fields.delivery)?.split(','));
  if (ids.success) return { action: action.data, ids: ids.data };
  throw incompleteForm('Select what is decided about.', `1 to ${MAX_SELECTED} rows`);
}
