import type { ListNames } from '../../src/fetch/internal/tables/columns/list-columns.ts';

/** Codes for a field of a list, and the same code in a dimension that does not belong to the list. */
export const LIST_CATALOG: ListNames['catalog'] = {
  dimensions: [
    {
      id: 'profile.review_status',
      label: 'Review status',
      description: '',
      type: 'enum',
      values: [
        { value: 'PR', label: 'Pending Review' },
        { value: 'AP', label: 'Approved' },
      ],
    },
    {
      id: 'alert.status',
      label: 'Alert status',
      description: '',
      type: 'enum',
      values: [{ value: 'AP', label: 'wrong' }],
    },
  ],
};
