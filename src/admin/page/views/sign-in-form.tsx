import type { AssetUrls } from '../assets/assets.ts';
import { BrandMark, Document } from '../components/layout.tsx';

interface SignInProps {
  readonly assets: AssetUrls;
  /** Why the sign-in failed, or that the user has signed out. */
  readonly message?: { readonly text: string; readonly isError: boolean } | undefined;
  /** The path to continue at. */
  readonly to: string;
}

export const SignIn = ({ assets, message, to }: SignInProps) => (
  <Document title="Sign in" assets={assets}>
    <main class="narrow">
      <h1>
        <BrandMark /> Docket
      </h1>
      {message === undefined ? null : (
        <p class={message.isError ? 'error' : 'notice'} role={message.isError ? 'alert' : 'status'} id="why">
          {message.text}
        </p>
      )}
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
          autofocus
          {...(message?.isError === true ? { 'aria-invalid': 'true', 'aria-describedby': 'why' } : {})}
        />
        <button type="submit" class="primary">
          Sign in
        </button>
        <p class="hint">
          Create one with <code>docket tokens create</code>. The browser stores a session of some hours, not the token.
        </p>
      </form>
    </main>
  </Document>
);
