/**
 * Limits the number of objects that anyone can create: open authorization requests and registered clients. Each kind of
 * object has a total limit, and limits for each network, site and client. At a limit, `ObjectLimits` deletes the oldest
 * object of the site with the most objects. So a flood displaces its own objects, and requests from other networks
 * remain.
 */
import { createHash, randomUUID } from 'node:crypto';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { clientNetwork, clientSite } from '../../keys/client-network.js';
import type { Clock } from '../../platform/clock.js';

/** ObjectOrigin identifies the network, the site and the client that caused an object. */
export interface ObjectOrigin {
  /** An IPv4 address, or the /64 of an IPv6 address. Random if many people share the address. */
  readonly network: string;
  /**
   * An IPv4 address, or the /48 of an IPv6 address, because one subscriber can have a whole /48. Random if many people
   * share the address.
   */
  readonly site: string;
  /** Hash of the client's ID. Empty if no client is known. */
  readonly client: string;
}

/** RoomBounds holds the limits for objects of one kind. */
export interface RoomBounds {
  readonly kind: string;
  /** Other kinds of objects. An object of these kinds is deleted together with the object that has the same ID. */
  readonly beside: readonly string[];
  /**
   * Normal lifetime of an object, in milliseconds. An object whose remaining lifetime is longer does not count, because
   * an approval has extended its lifetime.
   */
  readonly lifetimeMs: number;
  readonly most: number;
  readonly mostOfNetwork: number;
  readonly mostOfSite: number;
  readonly mostOfClient: number;
}

/**
 * Returns the origin of a request.
 * @param isShared whether many people share the address (`mcp.oauth.trustedNetworks`). If true, each request counts as
 * a separate network.
 */
export function originOf(address: string, isShared: boolean, clientId?: string): ObjectOrigin {
  const client = clientId === undefined ? '' : createHash('sha256').update(clientId).digest('base64url');
  if (isShared) {
    const own = randomUUID();
    return { network: own, site: own, client };
  }
  return { network: clientNetwork(address), site: clientSite(address), client };
}

/** ObjectLimits enforces the limits for one kind of object. Methods reject with the database's error. */
export class ObjectLimits {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
    private readonly bounds: RoomBounds,
  ) {}

  /**
   * Makes room for one more object of this origin, by deleting objects if a limit is reached. Call it before storing
   * the object.
   */
  async makeRoom(origin: ObjectOrigin): Promise<void> {
    const { most, mostOfNetwork, mostOfSite, mostOfClient } = this.bounds;
    const { network, site, client } = origin;
    const open = await this.count(origin);
    if (open.network >= mostOfNetwork) await this.evict(sql`network = ${network}`, mostOfNetwork);
    else if (open.site >= mostOfSite) await this.evict(sql`site = ${site}`, mostOfSite);
    else if (open.client >= mostOfClient) await this.evict(sql`client = ${client}`, mostOfClient);
    else if (open.total >= most) await this.evict(sql`true`, most);
  }

  private async count({ network, site, client }: ObjectOrigin): Promise<Record<keyof ObjectOrigin | 'total', number>> {
    const matching = (column: string, value: string): RawBuilder<number> =>
      sql`coalesce(sum(case when ${sql.ref(column)} = ${value} then 1 else 0 end), 0)`;
    const { rows } = await sql<Record<keyof ObjectOrigin | 'total', number | string>>`
      select count(*) as total, ${matching('network', network)} as network, ${matching('site', site)} as site,
        ${matching('client', client)} as client
      from oauth_object where ${this.isOpen()}
    `.execute(this.db);
    const [row] = rows;
    const read = (column: keyof ObjectOrigin | 'total'): number => Number(row?.[column] ?? 0);
    return { total: read('total'), network: read('network'), site: read('site'), client: read('client') };
  }

  /**
   * Deletes objects that match `where`, until `most - 1` remain. One statement counts and selects the objects. With a
   * separate count, concurrent requests would each delete the same excess again, and so objects of other networks.
   */
  private async evict(where: RawBuilder<unknown>, most: number): Promise<void> {
    const { kind, beside } = this.bounds;
    const counted = sql`
      select hash, expires_at, count(*) over (partition by site) as of_site,
        count(*) over (partition by network) as of_network
      from oauth_object where ${this.isOpen()} and ${where}
    `;
    const placed = sql`
      select hash, count(*) over () as total,
        row_number() over (order by of_site desc, of_network desc, expires_at) as place
      from (${counted}) as counted
    `;
    const superfluous = sql<{ readonly hash: string }>`
      select hash from (${placed}) as placed where place <= total + 1 - ${most}
    `;
    const { rows } = await superfluous.execute(this.db);
    const hashes = rows.map(({ hash }) => hash);
    if (hashes.length === 0) return;
    await this.db
      .deleteFrom('oauth_object')
      .where('kind', 'in', [kind, ...beside])
      .where('hash', 'in', hashes)
      .execute();
  }

  private isOpen(): RawBuilder<unknown> {
    const { kind, lifetimeMs } = this.bounds;
    const now = this.clock.now();
    return sql`kind = ${kind} and expires_at > ${now} and expires_at <= ${now + lifetimeMs}`;
  }
}
