// Installed by `npm run bench`, not with Docket: types are checked without them.
declare module 'bottleneck';
declare module 'csv-stringify';
declare module 'rate-limiter-flexible';
