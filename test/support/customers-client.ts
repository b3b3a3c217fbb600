/** A client of the customers backend that sends the account ID in a header, as the gateway does. */

export interface CustomerBody {
  readonly id: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  readonly activities: readonly string[];
  readonly status: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly [field: string]: unknown;
}

export interface PageBody {
  readonly data: readonly CustomerBody[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export class CustomersClient {
  constructor(
    readonly url: string,
    readonly accountId: string,
  ) {}

  /**
   * Sends a request. Encodes the body as JSON, unless it is a string or buffer. The result's body is `undefined` if the
   * response has none.
   */
  async send<Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer<Body>> {
    const response = await fetch(this.url + path, {
      method,
      headers: {
        'x-account-id': this.accountId,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, body: parsed as Body };
  }

  get<Body = PageBody>(path: string): Promise<Answer<Body>> {
    return this.send<Body>('GET', path);
  }

  /** Creates a customer with this email address. */
  create(email: string, fields: Readonly<Record<string, unknown>> = {}): Promise<Answer<CustomerBody>> {
    return this.send('POST', '/customers', { first_name: 'Anna', last_name: 'Huber', email, ...fields });
  }

  /**
   * Fetches all pages of the customers that match the filters.
   * @throws Error if a status is not 200
   */
  async walk(filters: Readonly<Record<string, string>> = {}, limit = 100): Promise<CustomerBody[]> {
    const found: CustomerBody[] = [];
    let cursor: string | null = null;
    do {
      const query: string = new URLSearchParams({
        ...filters,
        limit: `${limit}`,
        ...(cursor === null ? {} : { cursor }),
      }).toString();
      const { status, body }: Answer<PageBody> = await this.get(`/customers?${query}`);
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
      found.push(...body.data);
      cursor = body.next_cursor;
    } while (cursor !== null);
    return found;
  }
}
