/** People who use the panel of a running program: each is a member with a password, signed in in a browser of their own. */
import type { BrowserContext, Page } from 'playwright-core';
import type { Role } from '../../src/members/permissions.js';
import type { AdminClient } from './admin.js';
import { GOOD_PASSWORD, PanelBrowser } from './signed-in.js';

/** A program, or the admin application in this process. */
interface Administered {
  readonly admin: AdminClient;
}

export interface Person {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  /** Asks the admin API as their page would. */
  readonly session: PanelBrowser;
}

/** Returns the URL of the panel under the name that its own links have. A browser keeps cookies by name. */
export const panelUrlOf = ({ admin }: Administered): string => admin.url.replace('127.0.0.1', 'localhost');

let count = 0;

/** Somebody new, invited into the account in this role, who has taken the link and is signed in. */
export async function newPerson({ admin }: Administered, accountId: string, role: Role, name = 'Ana'): Promise<Person> {
  const email = `person-${++count}@example.com`;
  const invited = await admin.call<{ link: string }>('POST', `/accounts/${accountId}/invitations`, { email, role });
  const session = new PanelBrowser(admin.url);
  const token = new URL(invited.link).hash.slice(1);
  await session.call('POST', '/links/take', { token, name, password: GOOD_PASSWORD });
  return { name, email, password: GOOD_PASSWORD, session };
}

/** Somebody new who is an operator, and is signed in. */
export async function newOperator({ admin }: Administered, name = 'Olga'): Promise<Person> {
  const email = `person-${++count}@example.com`;
  const wanted = { email, name, is_operator: true };
  const made = await admin.call<{ password_link: { link: string } }>('POST', '/members', wanted);
  const session = new PanelBrowser(admin.url);
  const token = new URL(made.password_link.link).hash.slice(1);
  await session.call('POST', '/links/take', { token, password: GOOD_PASSWORD });
  return { name, email, password: GOOD_PASSWORD, session };
}

/** Signs the person in in this browser, as if they had done it there. */
export async function signInThere(context: BrowserContext, { session }: Person, panelUrl: string): Promise<void> {
  const cookies = [...session.cookies].map(([name, value]) => ({ name, value, url: panelUrl }));
  await context.addCookies(cookies.map((cookie) => ({ ...cookie, httpOnly: true, sameSite: 'Lax' })));
}

/** Types the password of a person into the form that asks for it, and sends it. */
export async function typePassword(page: Page, { password }: Person): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByLabel('Password', { exact: true }).press('Enter');
}
