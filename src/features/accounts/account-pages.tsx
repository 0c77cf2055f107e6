import type { PropsWithChildren } from 'hono/jsx';
import type { AssetUrls } from '../../admin/page/assets/assets.ts';
import { BrandMark, Document, Fact } from '../../admin/page/components/layout.tsx';
import type { AccountView } from './account-sign-in.ts';

/** Maximum groups that the page lists. An account may have hundreds. */
const MAX_SHOWN_GROUPS = 40;

interface OnwardProps {
  readonly assets: AssetUrls;
  readonly title: string;
  /** The address that the browser opens at once. */
  readonly to: string;
  readonly link: string;
  /** Attributes that the script and tests look for. */
  readonly mark: Readonly<Record<string, true>>;
}

const Onward = ({ assets, title, to, link, mark, children }: PropsWithChildren<OnwardProps>) => (
  <Document title={title} assets={assets} continueAt={to}>
    <main class="narrow" {...mark}>
      <h1>
        <BrandMark /> Docket
      </h1>
      <p>{children}</p>
      <p class="more">
        <a href={to}>{link}</a>
      </p>
    </main>
  </Document>
);

/**
 * The page after a sign-in at the provider. It continues by itself. A redirect would not work: browsers do not send a
 * SameSite=Strict cookie with redirects that another site started.
 */
export const SignedIn = ({ name, ...props }: Pick<OnwardProps, 'assets' | 'to'> & { readonly name: string }) => (
  <Onward {...props} title="Signed in" link="Continue" mark={{ 'data-signed-in': true }}>
    You are signed in as <strong>{name}</strong>.
  </Onward>
);

/**
 * The page after a sign-out from Docket. It continues to the provider's page, which may offer to end its own session
 * too.
 */
export const SigningOut = ({
  provider,
  ...props
}: Pick<OnwardProps, 'assets' | 'to'> & { readonly provider: string }) => (
  <Onward {...props} title="Signed out" link={`Sign out of ${provider} as well`} mark={{ 'data-signed-out': true }}>
    You are signed out of Docket.
  </Onward>
);

interface NoAccessProps {
  readonly assets: AssetUrls;
  readonly account: AccountView;
  readonly to: string;
}

/**
 * For an account that the provider confirmed but that has no access: shows its claims, and what an administrator can
 * do.
 */
export const NoAccess = ({ assets, account, to }: NoAccessProps) => {
  const { name, issuer, claims, rolesClaim } = account;
  const { subject, email, emailVerified, username, groups, groupsOmitted } = claims;
  return (
    <Document title="No access" assets={assets}>
      <main class="narrow wide-page" id="main" data-problem="no_access">
        <p>
          <a class="brand" href="/">
            <BrandMark /> Docket
          </a>
        </p>
        <h1>This account has no access</h1>
        <p>
          The provider confirmed who you are. Docket has no entry that gives this account access. Show this page to an
          administrator of Docket.
        </p>
        <dl class="facts">
          <Fact name="Account">{name}</Fact>
          <Fact name="Provider">{issuer}</Fact>
          <Fact name="Subject">
            <code>{subject}</code>
          </Fact>
          <Fact name="E-mail">
            {email === undefined ? 'none' : email}
            {email === undefined || emailVerified ? null : ' (not verified: entries by e-mail do not apply)'}
          </Fact>
          {username === undefined ? null : <Fact name="User name">{username}</Fact>}
          <Fact name={`Claim ${rolesClaim}`}>
            {groupsOmitted ? 'left out by the provider: too many groups' : <Groups groups={groups} />}
          </Fact>
        </dl>
        <h2>What an administrator can do</h2>
        <Remedy account={account} />
        <p class="more">
          <a href={`/sign-in?to=${encodeURIComponent(to)}`}>Sign in again</a>
        </p>
      </main>
    </Document>
  );
};

const Groups = ({ groups }: { readonly groups: readonly string[] }) => {
  if (groups.length === 0) return <>none</>;
  const more = groups.length - MAX_SHOWN_GROUPS;
  return (
    <>
      {groups.slice(0, MAX_SHOWN_GROUPS).join(', ')}
      {more > 0 ? ` and ${more} more` : null}
    </>
  );
};

const Remedy = ({ account }: { readonly account: AccountView }) => {
  const { claims, rolesClaim, sources } = account;
  return (
    <>
      {sources.file ? (
        <>
          <p>
            Add an entry to the file that <code>DOCKET_OIDC_ACCOUNTS</code> names, for this account or for one of its
            groups. It applies within seconds; then sign in again.
          </p>
          <pre class="yaml" tabindex={0}>
            <code>{accountEntries(claims)}</code>
          </pre>
        </>
      ) : null}
      {sources.claim ? (
        <p>
          {sources.file ? 'Or assign' : 'Assign'} a value such as <code>docket:viewer:acme</code>,{' '}
          <code>docket:operator:acme</code> or <code>docket:viewer:*</code> in the claim <code>{rolesClaim}</code> at
          the provider; then sign in again.
        </p>
      ) : null}
    </>
  );
};

/** Suggested entries of the mapping file. Values are JSON, which is also valid YAML. */
function accountEntries({ subject, groups: [group] }: AccountView['claims']): string {
  const access = ['  role: viewer   # or operator', '  orgs: [acme]   # or "*"'];
  const entry = [`- subject: ${JSON.stringify(subject)}`, ...access];
  return [...entry, ...(group === undefined ? [] : ['# or', `- group: ${JSON.stringify(group)}`, ...access])].join(
    '\n',
  );
}
