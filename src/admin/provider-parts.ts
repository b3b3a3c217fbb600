/** Lists the Nest controllers and providers for sign-in with identity providers (OpenID Connect). */
import type { Provider, Type } from '@nestjs/common';
import { Identities } from '../members/providers/identities.js';
import { ProviderClients } from '../members/providers/provider-clients.js';
import { ProviderInvitations } from '../members/providers/provider-invitations.js';
import { ProviderSignIn } from '../members/providers/provider-sign-in.js';
import { Providers } from '../members/providers/providers.js';
import type { Members } from '../members/sign-in/open-members.js';
import { MyIdentitiesController } from './me/identities.controller.js';
import type { AdminDependencies } from './request/admin-dependencies.js';
import { ProviderSignIns } from './sign-in/provider-sign-ins.js';
import { ProviderSignInController } from './sign-in/provider-sign-in.controller.js';

export const PROVIDER_CONTROLLERS: readonly Type[] = [ProviderSignInController, MyIdentitiesController];

/** Returns the Nest providers that `PROVIDER_CONTROLLERS` depend on. */
export function providerProviders(members: Members, deps: AdminDependencies): Provider[] {
  const { clock, log, settings, url } = deps;
  const { accessChanges, database, sessions, signIn, steps, signInMethods } = members;
  const identities = new Identities(database, clock, signInMethods);
  const invitations = new ProviderInvitations(database, clock, identities, signIn, accessChanges);
  const providers = new Providers({
    providers: () => settings().signIn.providers,
    clients: new ProviderClients(clock),
    steps,
    clock,
    log,
    callbackUrl: (id) => `${url()}/admin/v1/sign-in/providers/${id}/callback`,
  });
  return [
    ProviderSignIns,
    { provide: Identities, useValue: identities },
    { provide: Providers, useValue: providers },
    {
      provide: ProviderSignIn,
      useValue: new ProviderSignIn(database, clock, identities, sessions, signIn, accessChanges),
    },
    { provide: ProviderInvitations, useValue: invitations },
  ];
}
