import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { DefinitionStore } from '../../queue/definitions/definition-store.ts';
import type { RunOrder } from '../../run/run-record.ts';
import { loadFrozenDefinition } from '../definitions/frozen-definition.ts';

/** What comments are about: the frozen report. */
export interface ReviewedFigures {
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

export interface ReviewedFiguresPorts {
  readonly definitions: Pick<DefinitionStore, 'get'>;
}

/** Throws `definition.not_found` once the definition has expired. */
export const loadReviewedFigures = (order: RunOrder, { definitions }: ReviewedFiguresPorts): Promise<ReviewedFigures> =>
  loadFrozenDefinition(order, definitions);
