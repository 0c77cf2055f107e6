// `npm run bench` installs these packages, Docket does not. These lines let the types be checked without them.
declare module 'bottleneck';
declare module 'csv-stringify';
declare module 'rate-limiter-flexible';
