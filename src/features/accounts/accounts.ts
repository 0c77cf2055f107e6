import type { Feature } from '../../compose/feature.ts';
import { OIDC_CONFIG, oidcSettings } from './settings.ts';

/** People sign in with their accounts of an OpenID provider. */
export const accounts: Feature = {
  name: 'accounts',
  config: OIDC_CONFIG,
  signIn: (context) => {
    const settings = oidcSettings(context.config);
    if (settings === undefined) return undefined;
    return {
      issuer: settings.issuer,
      hostName: new URL(settings.redirectUrl).hostname,
      mayAdmit: async () => (await import('./accounts-file.ts')).readMayAdmit(settings),
      open: async (parts) => (await import('./open-accounts.ts')).openAccounts(context, settings, parts),
    };
  },
  probes: [
    {
      what: 'OpenID provider',
      doctor: async ({ context }) => (await import('./check-accounts.ts')).checkAccounts(context),
    },
  ],
};
