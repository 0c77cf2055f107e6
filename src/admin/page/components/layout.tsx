import type { Child, PropsWithChildren } from 'hono/jsx';
import type { Pause } from '../../../queue/schedules/pauses.ts';
import type { FileEntry } from '../../../services/runs/run-file-reader.ts';
import type { Switch } from '../../../services/switches/switch-service.ts';
import type { OrganizationEntry, ReportDetail } from '../../access/reports.ts';
import type { Principal } from '../../auth/tokens.ts';
import { BULL_BOARD_PATH } from '../../bull-board.ts';
import type { AssetUrls } from '../assets/assets.ts';
import { SettingsProvider } from './header/settings.tsx';
import { type PageZone, ZoneSelect } from './header/zone-choice.tsx';
import { Timestamp } from './time.tsx';

/** The data of the layout around every page. */
export interface LayoutData {
  readonly principal: Principal;
  /** The CSRF token of every form. */
  readonly csrf: string;
  readonly assets: AssetUrls;
  /** Number of deliveries that need a decision. */
  readonly undecided: number;
  /** Whether Docket watches delivered figures. If so, the navigation links to their corrections. */
  readonly corrections: boolean;
  /** Stops and legal holds. Every page shows them. */
  readonly switches: readonly Switch[];
  /** Epoch ms. */
  readonly now: number;
  /** The zone of all times on the page, and whose zone it is. */
  readonly zone: PageZone;
  /** Path and query of the page, without the result of an action. */
  readonly self: string;
  /** What features add to the header of each page. */
  readonly header?: readonly ((self: string) => unknown)[];
  /** What features add to reports and to the files of a run. */
  readonly panels?: readonly Panels[];
  /** The title of a current report; undefined if it is not known. */
  readonly titleOf: (org: string, report: string) => string | undefined;
  /** See `PageSettings`. */
  readonly pauses?: readonly Pause[];
  /** Whether the navigation links to Bull Board. */
  readonly bullBoard?: boolean;
}

/** What a feature adds to the page of a report, and to the page of a run below its files. */
export interface Panels {
  readonly report: (report: ReportDetail) => unknown;
  readonly files: (files: readonly FileEntry[]) => unknown;
}

/** The props of a page with data. */
export interface ViewProps<Data> {
  readonly layout: LayoutData;
  readonly data: Data;
  /** The result of the previous action. */
  readonly notice?: string | undefined;
}

/** Whether to show the actions of a page. This is not the permission check: the server does that itself. */
export const canAct = ({ principal }: LayoutData): boolean => principal.role === 'operator';

const NAVIGATION = [
  ['/', 'Overview'],
  ['/reports', 'Reports'],
  ['/runs', 'Runs'],
  ['/deliveries', 'Deliveries'],
  ['/corrections', 'Corrections'],
  ['/slots', 'Slots'],
  ['/forecast', 'Forecast'],
  ['/pauses', 'Pauses'],
  ['/audit', 'Audit'],
  ['/processes', 'Processes'],
] as const;
/** Pages in the navigation. */
export type NavigationPath = (typeof NAVIGATION)[number][0];

interface DocumentProps {
  readonly title: string;
  readonly assets: AssetUrls;
  /** An address that the browser opens at once, without a script. */
  readonly continueAt?: string | undefined;
}

/** The HTML document, for pages with and without a session. */
export const Document = ({ title, assets, continueAt, children }: PropsWithChildren<DocumentProps>) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      {continueAt === undefined ? null : <meta http-equiv="refresh" content={`0; url=${continueAt}`} />}
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

const RENEWAL_S = 15;

interface PageProps {
  readonly layout: LayoutData;
  /** Empty for the overview. */
  readonly title: string;
  /** Absent if the navigation does not link to the page. */
  readonly current?: NavigationPath;
  /** The result of the action just carried out. Screen readers announce it. */
  readonly notice?: string | undefined;
  /** Seconds after which the script fetches the page again to update its `data-live` parts. */
  readonly renew?: number;
}

/** The layout of a page for a signed-in user. */
export const PageLayout = ({
  layout,
  title,
  current,
  notice,
  renew = RENEWAL_S,
  children,
}: PropsWithChildren<PageProps>) => (
  <Document title={title} assets={layout.assets}>
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <header class="site-header">
      <a class="brand" href="/">
        <BrandMark /> Docket
      </a>
      <nav aria-label="Main">
        {NAVIGATION.filter(([href]) => href === current || isLinked(href, layout)).map(([href, word]) => (
          <a href={href} {...(href === current ? { 'aria-current': 'page' } : {})}>
            {word}
            {href === '/deliveries' ? <UndecidedCount count={layout.undecided} /> : null}
          </a>
        ))}
        {layout.bullBoard ? <a href={BULL_BOARD_PATH}>Queues</a> : null}
      </nav>
      {layout.header?.map((element) => element(layout.self))}
      <ZoneSelect zone={layout.zone} now={layout.now} self={layout.self}>
        <Csrf layout={layout} />
      </ZoneSelect>
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
    <main
      id="main"
      tabindex={-1}
      data-self={layout.self}
      data-renew={renew}
      data-now={layout.now}
      data-keys={layout.assets.keys}
    >
      <div id="stale" class="stale" role="status" aria-live="polite" data-zone={layout.zone.name}></div>
      {notice === undefined ? null : (
        <p class="notice" role="status">
          {notice}
        </p>
      )}
      <SettingsProvider
        value={{ zone: layout.zone.name, now: layout.now, titleOf: layout.titleOf, pauses: layout.pauses }}
      >
        {/* `/pauses` shows each as an entry with the form that ends it. */}
        {(current === '/pauses' ? [] : layout.switches).map((each) => (
          <SwitchBanner {...each} zone={layout.zone.name} />
        ))}
        {children}
      </SettingsProvider>
    </main>
  </Document>
);

const SwitchBanner = ({ kind, org, by, reason, since, zone }: Switch & { readonly zone: string }) => (
  <p class="attention">
    <strong>
      {kind === 'stop' ? 'Deliveries are stopped' : 'Legal hold'} for {org ?? 'everything'}
    </strong>{' '}
    since <Timestamp at={since} zone={zone} /> by {by}: {reason}.{' '}
    {kind === 'stop' ? 'Runs are created and wait.' : 'Nothing is deleted and nothing expires.'}{' '}
    <a href="/pauses">Pauses</a> or <code>{`docket ${kind} ${org ?? '--all'} --release --reason "…"`}</code> ends it.
  </p>
);

/** Whether this person can see anything there. */
const isLinked = (href: NavigationPath, { corrections, principal }: LayoutData): boolean =>
  (href !== '/corrections' || corrections) && (href !== '/processes' || principal.orgs === '*');

// Rendered even without a count, because the script updates this element.
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

/** The text in place of an empty list: why it is empty, and what to do. */
export const EmptyState = ({ children }: PropsWithChildren) => <p class="empty">{children}</p>;

interface SectionProps {
  readonly id: string;
  readonly heading: Child;
  /** The id of the content, if the script updates it. */
  readonly live?: string;
}

/** A part of a page under a heading. */
export const Section = ({ id, heading, live, children }: PropsWithChildren<SectionProps>) => (
  <section aria-labelledby={id}>
    <h2 id={id}>{heading}</h2>
    {live === undefined ? (
      children
    ) : (
      <div id={live} data-live>
        {children}
      </div>
    )}
  </section>
);

interface TableProps {
  readonly caption: string;
  readonly columns: readonly string[];
  /** Classes of columns, by heading. */
  readonly classes?: Readonly<Record<string, string>>;
  /** A class of the table, besides `rows`. */
  readonly class?: string;
  /** The id of the rows, if the script updates them. */
  readonly live?: string;
}

/** A table. Its children are the rows. */
export const Table = ({ caption, columns, classes, class: kind, live, children }: PropsWithChildren<TableProps>) => (
  <table class={kind === undefined ? 'rows' : `rows ${kind}`}>
    <caption class="visually-hidden">{caption}</caption>
    <thead>
      <tr>
        {columns.map((name) => (
          <th scope="col" class={classes?.[name]}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody {...(live === undefined ? {} : { id: live, 'data-live': true })}>{children}</tbody>
  </table>
);

interface PagerProps {
  /** The path of the first page; absent on that page. */
  readonly newest?: string | undefined;
  /** The path of the next page; absent on the last. */
  readonly older?: string | undefined;
  readonly label: string;
}

/** The links between pages of a list. */
export const Pager = ({ newest, older, label }: PagerProps) => (
  <p class="more">
    {newest === undefined ? null : <a href={newest}>Newest</a>}{' '}
    {older === undefined ? null : (
      <a href={older} rel="next">
        {label}
      </a>
    )}
  </p>
);

interface OrganizationSelectProps {
  readonly organizations: readonly Pick<OrganizationEntry, 'org'>[];
  readonly selected: string | undefined;
}

/** The filter by organization. */
export const OrganizationSelect = ({ organizations, selected }: OrganizationSelectProps) => (
  <label>
    Organization
    <select name="org">
      <option value="">all</option>
      {organizations.map(({ org }) => (
        <option value={org} selected={org === selected}>
          {org}
        </option>
      ))}
    </select>
  </label>
);

interface DecisionListProps<Decision> {
  readonly decisions: readonly Decision[];
  readonly label: (decision: Decision) => string;
  readonly zone: string;
}

/** The decisions made about a run or a delivery. */
export const DecisionList = <Decision extends { readonly by: string; readonly reason: string; readonly at: number }>({
  decisions,
  label,
  zone,
}: DecisionListProps<Decision>) => (
  <ol class="entries">
    {decisions.map((decision) => (
      <li>
        <p>
          <strong>{label(decision)}</strong> by {decision.by}, <Timestamp at={decision.at} zone={zone} />
        </p>
        <p class="quote">{decision.reason}</p>
      </li>
    ))}
  </ol>
);

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
