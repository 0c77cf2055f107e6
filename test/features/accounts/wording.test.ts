import { expect, test } from 'vitest';
import { renderDocument } from '../../../src/admin/page/routes/page-context.ts';
import { SignIn } from '../../../src/admin/page/views/sign-in-form.tsx';
import { formatError } from '../../../src/base/error.ts';
import { NoAccess, SignedIn, SigningOut } from '../../../src/features/accounts/account-pages.tsx';
import { type AccountView, START_PATH } from '../../../src/features/accounts/account-sign-in.ts';
import { providerError } from '../../../src/features/accounts/provider-errors.ts';

const assets = { style: '/s', script: '/j', keys: '/keys.js', icon: '/i' };
const accounts = { providerName: 'login.example.com', startPath: START_PATH };
const provider = accounts.providerName;
const account: AccountView = {
  name: 'ada@acme.example (0123456789ab)',
  issuer: 'https://login.example.com',
  claims: {
    subject: 'u1',
    email: 'ada@acme.example',
    emailVerified: false,
    username: 'ada',
    groups: ['staff'],
    groupsOmitted: false,
  },
  rolesClaim: 'groups',
  sources: { file: true, claim: true },
};
const bare = { subject: 'u2', emailVerified: false, groups: [], groupsOmitted: true };

const textOf = (html: string): string =>
  html
    .replace(/<\/?(?:strong|a|code|span)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, '\n')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');

test('the texts of the sign-in with an account match the recorded ones', async () => {
  const views = {
    'sign-in': SignIn({ assets, to: '/', accounts }),
    refused: SignIn({
      assets,
      to: '/',
      accounts,
      message: { text: 'The message.', isError: true, reason: 'access_denied' },
    }),
    'signed in': SignedIn({ assets, name: 'ada@acme.example', to: '/' }),
    'signed out': SigningOut({ assets, provider, to: 'https://login.example.com/end' }),
    'no access': NoAccess({ assets, account, to: '/' }),
    'no access, by claim, groups left out': NoAccess({
      assets,
      account: { ...account, claims: bare, sources: { file: false, claim: true } },
      to: '/',
    }),
  };
  const texts = await Promise.all(
    Object.entries(views).map(async ([name, view]) => `== ${name}\n${textOf(await renderDocument(view))}\n`),
  );
  await expect(texts.join('\n')).toMatchFileSnapshot('wording.txt');
});

test('the error texts of the provider match the recorded ones', async () => {
  const texts = (['oidc.unavailable', 'oidc.client_refused', 'oidc.refused', 'oidc.invalid_response'] as const).map(
    (code) => formatError(providerError(code, 'https://login.example', 'HTTP 400')),
  );
  await expect(`${texts.join('\n\n')}\n`).toMatchFileSnapshot('errors.txt');
});
