import type { Child, PropsWithChildren } from 'hono/jsx';
import type { Principal } from '../auth/tokens.ts';
import { BOARD } from '../board.ts';
import type { Assets } from './assets.ts';

/** What stands around every page of somebody who is signed in. */
export interface Frame {
  readonly principal: Principal;
  /** Goes with each form, so that no other site can send one. */
  readonly csrf: string;
  readonly assets: Assets;
  /** Deliveries that wait for a decision. */
  readonly undecided: number;
  /** Epoch ms. */
  readonly now: number;
  /** Whether Bull Board is there to be looked at. */
  readonly board?: boolean;
}

/** Whether the actions of a page are shown; the server refuses them anyway. */
export const mayAct = ({ principal }: Frame): boolean => principal.role === 'operator';

const NAVIGATION = [
  ['/', 'Overview'],
  ['/reports', 'Reports'],
  ['/runs', 'Runs'],
  ['/deliveries', 'Deliveries'],
  ['/slots', 'Slots'],
  ['/pauses', 'Pauses'],
  ['/audit', 'Audit'],
] as const;
export type Place = (typeof NAVIGATION)[number][0];

interface DocumentProps {
  readonly title: string;
  readonly assets: Assets;
}

/** The document itself, signed in or not. */
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

export const Mark = () => (
  <svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
    <path d="M4 2h12v16l-2-1.5-2 1.5-2-1.5-2 1.5-2-1.5-2 1.5z" fill="currentColor" />
    <path d="M7 6.5h6M7 10h6" stroke="var(--paper)" stroke-width="1.5" />
  </svg>
);

interface PageProps {
  readonly frame: Frame;
  /** Empty for the overview. */
  readonly title: string;
  readonly place: Place;
  /** What an action that was just carried out has done; said to screen readers as well. */
  readonly notice?: string | undefined;
}

/** A page of somebody who is signed in. */
export const Page = ({ frame, title, place, notice, children }: PropsWithChildren<PageProps>) => (
  <Document title={title} assets={frame.assets}>
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <header class="top">
      <a class="brand" href="/">
        <Mark /> Docket
      </a>
      <nav aria-label="Main">
        {NAVIGATION.map(([href, word]) => (
          <a href={href} {...(href === place ? { 'aria-current': 'page' } : {})}>
            {word}
            {href === '/deliveries' ? <Undecided count={frame.undecided} /> : null}
          </a>
        ))}
        {frame.board ? <a href={BOARD}>Queues</a> : null}
      </nav>
      <form class="who" method="post" action="/sign-out">
        <Csrf frame={frame} />
        <span>
          {frame.principal.name} <span class="soft">{frame.principal.role}</span>
        </span>
        <button type="submit" class="plain">
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

// It is there with nothing in it as well, so that the script can put something into it.
const Undecided = ({ count }: { readonly count: number }) => (
  <span id="undecided" data-live>
    {count === 0 ? null : (
      <span class="count">
        {count > 99 ? '99+' : count}
        <span class="unseen"> need a decision</span>
      </span>
    )}
  </span>
);

export const Csrf = ({ frame }: { readonly frame: Pick<Frame, 'csrf'> }) => (
  <input type="hidden" name="csrf" value={frame.csrf} />
);

/** What stands where a list has nothing in it: why, and what to do. */
export const Empty = ({ children }: PropsWithChildren) => <p class="empty">{children}</p>;

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
