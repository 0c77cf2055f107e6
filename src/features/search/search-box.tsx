/**
 * The search field in the header of each page. The script focuses it on `/`.
 *
 * @param self path and query of the page; the page of results keeps its search text in the field
 */
export const SearchBox = ({ self }: { readonly self: string }) => {
  const { pathname, searchParams } = new URL(self, 'http://docket.invalid');
  return (
    <search class="search">
      <form method="get" action="/search">
        <input
          id="search"
          type="search"
          name="q"
          value={pathname === '/search' ? (searchParams.get('q') ?? '') : ''}
          placeholder="Search ( / )"
          aria-label="Search reports, runs and recipients"
          aria-keyshortcuts="/"
          maxlength={200}
          autocomplete="off"
          spellcheck={false}
        />
      </form>
    </search>
  );
};
