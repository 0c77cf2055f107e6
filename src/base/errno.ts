/** The `code` of a thrown system or library error, e.g. `ENOENT`; undefined where it has none. */
export function errnoOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** Whether an error with one of these codes was thrown. */
export function isErrno(thrown: unknown, ...codes: readonly string[]): boolean {
  const code = errnoOf(thrown);
  return code !== undefined && codes.includes(code);
}
