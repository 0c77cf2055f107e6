import type { AssetUrls } from '../assets/assets.ts';
import { BrandMark, Document } from '../components/layout.tsx';

/** The message above the forms. */
export interface SignInMessage {
  readonly text: string;
  readonly isError: boolean;
  /** The reason that the provider gave. */
  readonly reason?: string | undefined;
  /** The field that the message is about. */
  readonly about?: 'token';
}

interface SignInProps {
  readonly assets: AssetUrls;
  readonly message?: SignInMessage | undefined;
  /** The path to continue at. */
  readonly to: string;
  /** Absent if only tokens are accepted. */
  readonly accounts?: { readonly providerName: string; readonly startPath: string } | undefined;
}

/** The sign-in page. If there is a provider, the company account comes first, then the token. */
export const SignIn = ({ assets, message, to, accounts }: SignInProps) => (
  <Document title="Sign in" assets={assets}>
    <main class="narrow">
      <h1>
        <BrandMark /> Docket
      </h1>
      {message === undefined ? null : (
        <div class={message.isError ? 'error' : 'notice'} role={message.isError ? 'alert' : 'status'} id="why">
          <p>{message.text}</p>
          {message.reason === undefined ? null : <p class="reason">Reason: {message.reason}</p>}
        </div>
      )}
      {accounts === undefined ? (
        <TokenForm to={to} message={message} first />
      ) : (
        <>
          <p>
            <a class="button primary wide" href={`${accounts.startPath}?to=${encodeURIComponent(to)}`}>
              Sign in with your company account
            </a>
          </p>
          <p class="hint">You continue at {accounts.providerName}.</p>
          <details class="other-way" open={message?.isError === true}>
            <summary>Sign in with a token</summary>
            <TokenForm to={to} message={message} />
          </details>
        </>
      )}
    </main>
  </Document>
);

interface TokenFormProps extends Pick<SignInProps, 'to' | 'message'> {
  /** Whether the token is the only way to sign in. */
  readonly first?: boolean;
}

const TokenForm = ({ to, message, first = false }: TokenFormProps) => (
  <form method="post" action="/sign-in">
    <input type="hidden" name="to" value={to} />
    <label for="token">Token</label>
    <input
      id="token"
      name="token"
      type="password"
      required
      autocomplete="current-password"
      spellcheck={false}
      autofocus={first}
      {...(message?.about === 'token' ? { 'aria-invalid': 'true', 'aria-describedby': 'why' } : {})}
    />
    <button type="submit" {...(first ? { class: 'primary' } : {})}>
      Sign in
    </button>
    <p class="hint">
      Create one with <code>docket tokens create</code>. The browser stores a session for some hours, not the token.
    </p>
  </form>
);
