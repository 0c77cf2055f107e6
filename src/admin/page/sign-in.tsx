import type { Assets } from './assets.ts';
import { Document, Mark } from './frame.tsx';

interface SignInProps {
  readonly assets: Assets;
  /** Why nobody was let in, or that somebody has left. */
  readonly message?: { readonly text: string; readonly grave: boolean } | undefined;
  /** Path of ours to which the visitor wanted to go. */
  readonly to: string;
}

export const SignIn = ({ assets, message, to }: SignInProps) => (
  <Document title="Sign in" assets={assets}>
    <main class="door">
      <h1>
        <Mark /> Docket
      </h1>
      {message === undefined ? null : (
        <p class={message.grave ? 'fault' : 'notice'} role={message.grave ? 'alert' : 'status'} id="why">
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
          {...(message?.grave === true ? { 'aria-invalid': 'true', 'aria-describedby': 'why' } : {})}
        />
        <button type="submit" class="primary">
          Sign in
        </button>
        <p class="hint">
          <code>docket tokens create</code> makes one. It is not kept in the browser, only a session of some hours.
        </p>
      </form>
    </main>
  </Document>
);
