/** An admin application with two identity providers that are one process, and people who go there and back. */
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { PanelFiles } from '../../src/admin/panel/panel-files.js';
import { systemClock } from '../../src/platform/clock.js';
import { startAdmin, type RunningAdmin } from './admin-application.js';
import { testDatabase } from './database.js';
import { PROVIDER_CLIENT, type IdentityProvider } from './identity-provider.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from './signed-in.js';

const OPERATORS = { claim: 'groups', value: 'ops' };
let count = 0;

/** ProviderWorld is one of them, with an account. */
export class ProviderWorld {
  private constructor(
    private readonly idp: IdentityProvider,
    readonly database: DatabaseHandle,
    readonly running: RunningAdmin,
    readonly accountId: string,
  ) {}

  /** Starts one. `company` makes nobody an operator, `staff` those in the group `ops`. */
  static async start(idp: IdentityProvider, kind: DatabaseHandle['kind'], panel?: PanelFiles): Promise<ProviderWorld> {
    const database = await testDatabase(kind);
    const company = { issuer: idp.issuer, ...PROVIDER_CLIENT, label: 'Company' };
    const providers = { company, staff: { ...company, label: 'Staff', operators: OPERATORS } };
    const running = await startAdmin(database, {
      settings: { signIn: { providers } },
      ...(panel === undefined ? {} : { panel }),
    });
    // The provider says when somebody signed in there by the clock on the wall.
    running.clock.advance(systemClock.now() - running.clock.now());
    const { id } = await running.admin.createAccount({ plan: 'starter' });
    return new ProviderWorld(idp, database, running, id);
  }

  async close(): Promise<void> {
    await this.running.close();
    await this.database.close();
  }

  /** A name that nobody has at the provider. */
  newName(): string {
    return `${this.database.kind}-${++count}`;
  }

  browser(): PanelBrowser {
    return new PanelBrowser(this.running.url);
  }

  /** There and back; where the browser is led in the end. */
  async visit(own: PanelBrowser, sub: string, body: object = {}, provider = 'company'): Promise<string> {
    const { url } = await own.call<{ url: string }>('POST', `/sign-in/providers/${provider}`, body);
    return this.comeBack(own, await this.idp.signIn(url, sub));
  }

  /** The second half of it. */
  async comeBack(own: PanelBrowser, { pathname, search }: URL): Promise<string> {
    const answer = await own.ask('GET', `${pathname.replace('/admin/v1', '')}${search}`);
    if (answer.status !== 303) throw new Error(`The way back led nowhere: ${answer.status} ${answer.text}`);
    return String(answer.headers.location);
  }

  /** Somebody who is signed in with a password. */
  async signedIn() {
    const member = await memberWithPassword(this.database, this.running);
    const own = this.browser();
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    return { ...member, own };
  }

  /** The token of an invitation. */
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
