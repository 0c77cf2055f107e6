import type { Child, PropsWithChildren } from 'hono/jsx';
import type { Principal } from '../../auth/tokens.ts';
import { BULL_BOARD_PATH } from '../../bull-board.ts';
import type { AssetUrls } from '../assets/assets.ts';

/** The data of the layout around every page. */
export interface LayoutData {
  readonly principal: Principal;
  /** The token of every form against cross-site requests. */
  readonly csrf: string;
  readonly assets: AssetUrls;
  /** Number of deliveries that need a decision. */
  readonly undecided: number;
  /** Epoch ms. */
  readonly now: number;
  /** Whether the navigation links to Bull Board. */
  readonly bullBoard?: boolean;
}

/** The props of a page with data. */
export interface ViewProps<Data> {
  readonly layout: LayoutData;
  readonly data: Data;
  /** The result of the action before. */
  readonly notice?: string | undefined;
}

/** Whether to show the actions of a page. The server checks permissions itself. */
export const canAct = ({ principal }: LayoutData): boolean => principal.role === 'operator';

const NAVIGATION = [
  ['/', 'Overview'],
  ['/reports', 'Reports'],
  ['/runs', 'Runs'],
  ['/deliveries', 'Deliveries'],
  ['/slots', 'Slots'],
  ['/pauses', 'Pauses'],
  ['/audit', 'Audit'],
] as const;
export type NavigationPath = (typeof NAVIGATION)[number][0];

interface DocumentProps {
  readonly title: string;
  readonly assets: AssetUrls;
}

/** The HTML document, signed in or not. */
export const Document = ({ title, assets, children }: PropsWithChildren<DocumentProps>) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{title === '' ? 'Docket' : `${title} · Docket`}</title>
      <link rel="icon" type="image/svg+xml" href={assets.icon} />
      <link rel="stylesheet" href={assets.style} />
      <script src={assets.script} defer></script>
    </head>
    <body>{children}</body>
  </html>
);

export const BrandMark = () => (
  <svg class="logo" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
    <path d="M4 2h12v16l-2-1.5-2 1.5-2-1.5-2 1.5-2-1.5-2 1.5z" fill="currentColor" />
    <path d="M7 6.5h6M7 10h6" stroke="var(--paper)" stroke-width="1.5" />
  </svg>
);

interface PageProps {
  readonly layout: LayoutData;
  /** Empty for the overview. */
  readonly title: string;
  readonly current: NavigationPath;
  /** What an action that was just carried out has done; said to screen readers as well. */
  readonly notice?: string | undefined;
}

/** The layout of a page for a signed-in user. */
export const PageLayout = ({ layout, title, current, notice, children }: PropsWithChildren<PageProps>) => (
  <Document title={title} assets={layout.assets}>
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <header class="site-header">
      <a class="brand" href="/">
        <BrandMark /> Docket
      </a>
      <nav aria-label="Main">
        {NAVIGATION.map(([href, word]) => (
          <a href={href} {...(href === current ? { 'aria-current': 'page' } : {})}>
            {word}
            {href === '/deliveries' ? <UndecidedCount count={layout.undecided} /> : null}
          </a>
        ))}
        {layout.bullBoard ? <a href={BULL_BOARD_PATH}>Queues</a> : null}
      </nav>
      <form class="account" method="post" action="/sign-out">
        <Csrf layout={layout} />
        <span>
          {layout.principal.name} <span class="muted">{layout.principal.role}</span>
        </span>
        <button type="submit" class="link-button">
          Sign out
        </button>
      </form>
    </header>
    <main id="main" tabindex={-1}>
      <div id="stale" class="stale" role="status" aria-live="polite"></div>
      {notice === undefined ? null : (
        <p class="notice" role="status">
          {notice}
        </p>
      )}
      {children}
    </main>
  </Document>
);

// Rendered without a count too, as the element that the script updates.
const UndecidedCount = ({ count }: { readonly count: number }) => (
  <span id="undecided" data-live>
    {count === 0 ? null : (
      <span class="count">
        {count > 99 ? '99+' : count}
        <span class="visually-hidden"> need a decision</span>
      </span>
    )}
  </span>
);

export const Csrf = ({ layout }: { readonly layout: Pick<LayoutData, 'csrf'> }) => (
  <input type="hidden" name="csrf" value={layout.csrf} />
);

/** The text of an empty list: why it is empty, and what to do. */
export const EmptyState = ({ children }: PropsWithChildren) => <p class="empty">{children}</p>;

interface FactProps {
  readonly name: string;
  readonly children?: Child;
}

/** A name and its value, in a `<dl class="facts">`. */
export const Fact = ({ name, children }: FactProps) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
