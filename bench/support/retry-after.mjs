/** The ms that a 429 says to wait; undefined for any other error. */
export const retryAfterMs = (error) => (error.code === 'api.throttled' ? (error.retryAfterMs ?? 1_000) : undefined);
