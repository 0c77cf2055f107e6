import type { ErrorJson } from '../../../base/error.ts';
import { ErrorDetails } from './error-details.tsx';

interface TextFilterProps {
  readonly name: string;
  readonly label: string;
  readonly value: string | undefined;
  readonly placeholder: string;
}

/** A text filter that matches a part of the value. */
export const TextFilter = ({ name, label, value, placeholder }: TextFilterProps) => (
  <label>
    {label}
    <input
      name={name}
      value={value ?? ''}
      placeholder={placeholder}
      autocomplete="off"
      spellcheck={false}
      maxlength={200}
    />
  </label>
);

/** Report, recipient and period. */
export const PartFilters = ({
  query,
}: {
  readonly query: {
    readonly match?: string | undefined;
    readonly to?: string | undefined;
    readonly period?: string | undefined;
  };
}) => (
  <>
    <TextFilter name="match" label="Report" value={query.match} placeholder="part of title or id" />
    <TextFilter name="to" label="Recipient" value={query.to} placeholder="part of the address" />
    <TextFilter name="period" label="Period" value={query.period} placeholder="october, 2026-W46" />
  </>
);

/** Explains why the filters could not be used. */
export const RejectedFilter = ({ error }: { readonly error: ErrorJson }) => (
  <ErrorDetails error={error} id="filter-error" heading="This filter cannot be used" />
);

/** The path of a list with these filters. */
export function filteredPath(path: string, query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

/** Whether any filter is set. Paging alone does not count. */
export const isFiltered = ({ after: _, ...query }: { readonly after?: string | undefined }): boolean =>
  Object.values(query).some((value) => value !== undefined);
