import { fuzzApi } from '../../support/api-fuzz.ts';

fuzzApi('only read', {
  chosen: ({ method }) => method === 'GET',
  statuses: [200, 304, 401, 403, 404, 405, 422],
});
