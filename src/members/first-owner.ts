/**
 * Creates sign-in links that the program prints at startup: for a new installation without an operator, and for the
 * demo.
 */
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Clock } from '../platform/clock.js';
import { createLink } from './links.js';
import { insertMember } from './member-rows.js';
import type { MemberStore } from './members.js';

const FIRST_OWNER_LINK_MS = 24 * 3_600_000;
const START_LINK_MS = 15 * 60_000;
const DEMO_MEMBER = 'demo_member';
const DEMO_EMAIL = 'demo@example.com';

/** FirstOwner creates the links for the first operator and for the demo's operator. */
export class FirstOwner {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly members: MemberStore,
  ) {}

  /**
   * Creates a link whose recipient becomes the first operator, and returns its token. Returns null if an operator
   * exists. Revokes the previous link. The program cannot print that link again, because the database stores only the
   * hash of its token.
   */
  async createLink(): Promise<string | null> {
    if (await this.members.hasOperator()) return null;
    const now = this.clock.now();
    return this.database.db.transaction().execute(async (trx) => {
      const open = trx.updateTable('link').set({ revoked_at: now }).where('kind', '=', 'first_owner');
      await open.where('used_at', 'is', null).where('revoked_at', 'is', null).execute();
      const link = { kind: 'first_owner', createdBy: 'system', lastsMs: FIRST_OWNER_LINK_MS } as const;
      return (await createLink(trx, link, now)).token;
    });
  }

  /**
   * Reports whether a member is the demo's operator, who signs in with the link that the program prints at each start.
   */
  async isDemo(memberId: string): Promise<boolean> {
    const setting = this.database.db.selectFrom('installation').select('value').where('name', '=', DEMO_MEMBER);
    return (await setting.executeTakeFirst())?.value === memberId;
  }

  /**
   * Creates a link that signs in the demo's operator, and returns its token. Creates that member at the first start.
   */
  async startLink(): Promise<string> {
    const now = this.clock.now();
    return this.database.db.transaction().execute(async (trx) => {
      const demo = await trx
        .selectFrom('installation')
        .innerJoin('member', 'member.id', 'installation.value')
        .select('installation.value')
        .where('installation.name', '=', DEMO_MEMBER)
        .where('member.removed_at', 'is', null)
        .executeTakeFirst();
      let memberId = demo?.value;
      if (memberId === undefined) {
        await trx.deleteFrom('installation').where('name', '=', DEMO_MEMBER).execute();
        const member = { email: DEMO_EMAIL, name: 'Demo', isOperator: true, password: null, locale: null };
        memberId = (await insertMember(trx, member, now)).id;
        await trx.insertInto('installation').values({ name: DEMO_MEMBER, value: memberId }).execute();
      }
      const link = { kind: 'start', memberId, createdBy: 'system', lastsMs: START_LINK_MS } as const;
      return (await createLink(trx, link, now)).token;
    });
  }
}
