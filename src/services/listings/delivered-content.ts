import { resolveTarget, targetName } from '../../definitions/schema/kinds.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { type DeliveryRow, NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';

/** What a recipient gets from a delivery. */
export interface DeliveredContent {
  /**
   * `mail`: an e-mail, with or without files of these formats. `files`: files only. `notice`: a notice to the owner.
   */
  readonly kind: 'mail' | 'files' | 'notice';
  /** The output formats, in the order of the definition. */
  readonly formats: readonly string[];
}

/** Undefined if the definition does not have the delivery's target. */
export function deliveredContent(
  { target }: Pick<DeliveryRow, 'target'>,
  definition: Pick<Definition, 'deliveries' | 'outputs'>,
): DeliveredContent | undefined {
  if (target === NOTICE_TARGET) return { kind: 'notice', formats: [] };
  for (const [index, delivery] of definition.deliveries.entries()) {
    const { target: kind, spec } = resolveTarget(delivery, TARGETS);
    // A pack's target is named like the report's, followed by the value.
    if (targetName(index, kind.kind) !== target.replace(/:.*$/, '')) continue;
    const { attach, body } = kind.describe(spec);
    const all = [...new Set(definition.outputs.map(({ format }) => format))];
    return { kind: body === undefined ? 'files' : 'mail', formats: attach ?? all };
  }
  return undefined;
}
