const EXPECTED = 'the URL of the page as readers open it, e.g. https://docket.example.com';

/**
 * Parses the URL under which readers open the page. Keeps its path, for a proxy that serves the page below one.
 * @returns the URL without a slash at its end
 */
export function parsePublicUrl(
  text: string,
): { readonly url: string } | { readonly expected: string; readonly got: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    return { expected: EXPECTED, got: `"${text}"` };
  }
  if (url.username !== '' || url.password !== '') {
    return { expected: `${EXPECTED}, without user and password`, got: 'a URL with credentials (not shown)' };
  }
  if (url.search !== '' || url.hash !== '') {
    return { expected: `${EXPECTED}, without a query and a fragment`, got: `"${text}"` };
  }
  return { url: url.href.replace(/\/+$/, '') };
}

/** The page of a run; undefined without a public URL. */
export const runPageUrl = (publicUrl: string | undefined, run: string): string | undefined =>
  publicUrl === undefined ? undefined : `${publicUrl}/runs/${encodeURIComponent(run)}`;
