import { fuzzApi } from '../../support/api-fuzz.ts';

fuzzApi('change something', {
  chosen: ({ method }) => method !== 'GET',
  statuses: [200, 202, 400, 401, 403, 404, 405, 409, 415, 422],
});
