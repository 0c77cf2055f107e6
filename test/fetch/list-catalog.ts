import type { ListNames } from '../../src/fetch/internal/tables/columns/list-columns.ts';

/** Codes of a list's field, and the same code of a dimension that is not the list's. */
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
