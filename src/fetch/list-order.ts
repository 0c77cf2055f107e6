import type { ListRecord } from '../contract/organization.ts';

/** Watches whether the records of a list come in the order that was asked for. */
export interface ListOrder {
  see(record: ListRecord): void;
  /** False once a record came before one that it should follow. */
  kept(): boolean;
}

const INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** What can be compared without knowing how the service sorts texts: numbers and instants. */
function comparable(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const at = typeof value === 'string' && INSTANT.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/**
 * @param ordering a field's name, `-` before it reverses (specification §4); undefined asks for no order
 */
export function listOrder(ordering: string | undefined): ListOrder {
  const reversed = ordering?.startsWith('-') === true;
  const field = reversed ? ordering?.slice(1) : ordering;
  let last: number | undefined;
  let kept = true;
  return {
    see: (record) => {
      const value = field === undefined ? undefined : comparable(record[field]);
      if (value === undefined) return;
      if (last !== undefined && (reversed ? value > last : value < last)) kept = false;
      last = value;
    },
    kept: () => kept,
  };
}
