import { z } from 'zod';
import type { AdminServices } from '../../admin/access/services.ts';
import { renderDocument } from '../../admin/page/routes/page-context.ts';
import type { AdminPart } from '../../admin/part.ts';
import { type FindMatches, findMatches } from './find-matches.ts';
import { addSearchRoute } from './search-api.ts';
import { Search } from './search-page.tsx';

const textParameter = z.string().trim().max(200).catch('');

/** The search of the admin route. Each principal searches its own organizations. */
export const searchPart = (services: AdminServices): AdminPart =>
  partOver((text, orgs) => findMatches(text, orgs, services));

/** The search with a given function to find matches. */
export const partOver = (find: FindMatches): AdminPart => ({
  addApi: (app) => addSearchRoute(app, find),
  addViews: (app, page) => {
    app.get('/search', async (context) => {
      const text = textParameter.parse(context.req.query('q'));
      const access = page.access(context);
      const result = await find(text, access.principal.orgs);
      const layout = await page.layout(context, access);
      return context.html(await renderDocument(<Search layout={layout} data={{ text, result }} />));
    });
  },
  header: (self) => <SearchBox self={self} />,
});

/**
 * The search field in the header of each page. The script focuses it on `/`.
 *
 * @param self path and query of the page; the page of results keeps its search text in the field
 */
const SearchBox = ({ self }: { readonly self: string }) => {
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
