/** An admin application with two configured identity providers, which are one server, and browsers that use them. */
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { PanelFiles } from '../../src/admin/panel/panel-files.js';
import { systemClock } from '../../src/platform/clock.js';
import { startAdmin, type RunningAdmin } from './admin-application.js';
import { testDatabase } from './database.js';
import { PROVIDER_CLIENT, type IdentityProvider } from './identity-provider.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from './signed-in.js';

const OPERATORS = { claim: 'groups', value: 'ops' };
let count = 0;

/** ProviderWorld is an admin application with an account and two identity providers. */
export class ProviderWorld {
  private constructor(
    private readonly idp: IdentityProvider,
    readonly database: DatabaseHandle,
    readonly running: RunningAdmin,
    readonly accountId: string,
  ) {}

  /**
   * Starts a world. The provider `company` makes no one an operator, and `staff` makes the members of the group `ops`
   * operators. The caller must close it.
   */
  static async start(idp: IdentityProvider, kind: DatabaseHandle['kind'], panel?: PanelFiles): Promise<ProviderWorld> {
    const database = await testDatabase(kind);
    const company = { issuer: idp.issuer, ...PROVIDER_CLIENT, label: 'Company' };
    const providers = { company, staff: { ...company, label: 'Staff', operators: OPERATORS } };
    const running = await startAdmin(database, {
      settings: { signIn: { providers } },
      ...(panel === undefined ? {} : { panel }),
    });
    // The provider uses the system clock for its sign-in times, so the test clock must agree.
    running.clock.advance(systemClock.now() - running.clock.now());
    const { id } = await running.admin.createAccount({ plan: 'starter' });
    return new ProviderWorld(idp, database, running, id);
  }

  async close(): Promise<void> {
    await this.running.close();
    await this.database.close();
  }

  /** Returns a new user name for the provider. */
  newName(): string {
    return `${this.database.kind}-${++count}`;
  }

  browser(): PanelBrowser {
    return new PanelBrowser(this.running.url);
  }

  /** Signs in at a provider, and opens the callback URL. @returns the URL of the final redirect. */
  async visit(own: PanelBrowser, sub: string, body: object = {}, provider = 'company'): Promise<string> {
    const { url } = await own.call<{ url: string }>('POST', `/sign-in/providers/${provider}`, body);
    return this.comeBack(own, await this.idp.signIn(url, sub));
  }

  /** Opens the callback URL in the browser. @returns the URL that it redirects to. */
  async comeBack(own: PanelBrowser, { pathname, search }: URL): Promise<string> {
    const answer = await own.ask('GET', `${pathname.replace('/admin/v1', '')}${search}`);
    if (answer.status !== 303) throw new Error(`The callback did not redirect: ${answer.status} ${answer.text}`);
    return String(answer.headers.location);
  }

  /** Creates a member with a password, and a browser in which they are signed in. */
  async signedIn() {
    const member = await memberWithPassword(this.database, this.running);
    const own = this.browser();
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    return { ...member, own };
  }

  /** Creates an invitation, and returns its token. */
  async invitationFor(email: string, role = 'viewer'): Promise<string> {
    const path = `/accounts/${this.accountId}/invitations`;
    const { link } = await this.running.admin.call<{ link: string }>('POST', path, { email, role });
    return String(link.split('#')[1]);
  }

  /** Returns the audit entries of a member, oldest first. */
  async entriesOf(memberId: string) {
    const { db } = this.database;
    return await db.selectFrom('audit_entry').selectAll().where('target_id', '=', memberId).orderBy('id').execute();
  }

  async membersOf(email: string) {
    return await this.database.db.selectFrom('member').selectAll().where('email_key', '=', email).execute();
  }
}
