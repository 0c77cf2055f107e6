/** The ms to wait that a 429 names; undefined for any other error. */
export const retryAfterMs = (error) => (error.code === 'api.throttled' ? (error.retryAfterMs ?? 1_000) : undefined);
