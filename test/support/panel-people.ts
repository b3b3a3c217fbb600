/** People who use the panel. Each is a member with a password and a session. */
import type { BrowserContext, Page } from 'playwright-core';
import type { Role } from '../../src/members/permissions.js';
import type { AdminClient } from './admin.js';
import { GOOD_PASSWORD, PanelBrowser } from './signed-in.js';

/** A running program, or the admin application in this process. */
interface Administered {
  readonly admin: AdminClient;
}

export interface Person {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  /** Sends requests to the admin API in the session of the member, as the panel does. */
  readonly session: PanelBrowser;
}

/** Returns the URL of the panel with the host `localhost`, as in its own links. Browsers keep cookies per host. */
export const panelUrlOf = ({ admin }: Administered): string => admin.url.replace('127.0.0.1', 'localhost');

let count = 0;

/** Invites a new member into the account, accepts the invitation, and returns the signed-in member. */
export async function newPerson({ admin }: Administered, accountId: string, role: Role, name = 'Ana'): Promise<Person> {
  const email = `person-${++count}@example.com`;
  const invited = await admin.call<{ link: string }>('POST', `/accounts/${accountId}/invitations`, { email, role });
  const session = new PanelBrowser(admin.url);
  const token = new URL(invited.link).hash.slice(1);
  await session.call('POST', '/links/take', { token, name, password: GOOD_PASSWORD });
  return { name, email, password: GOOD_PASSWORD, session };
}

/** Creates a new operator with a password, and returns them signed in. */
export async function newOperator({ admin }: Administered, name = 'Olga'): Promise<Person> {
  const email = `person-${++count}@example.com`;
  const wanted = { email, name, is_operator: true };
  const made = await admin.call<{ password_link: { link: string } }>('POST', '/members', wanted);
  const session = new PanelBrowser(admin.url);
  const token = new URL(made.password_link.link).hash.slice(1);
  await session.call('POST', '/links/take', { token, password: GOOD_PASSWORD });
  return { name, email, password: GOOD_PASSWORD, session };
}

/** Signs a person in to the browser context by copying the cookies of their session. */
export async function signInThere(context: BrowserContext, { session }: Person, panelUrl: string): Promise<void> {
  const cookies = [...session.cookies].map(([name, value]) => ({ name, value, url: panelUrl }));
  await context.addCookies(cookies.map((cookie) => ({ ...cookie, httpOnly: true, sameSite: 'Lax' })));
}

/** Fills in the password of a person, and submits the form. */
export async function typePassword(page: Page, { password }: Person): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByLabel('Password', { exact: true }).press('Enter');
}
