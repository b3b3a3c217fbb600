/** Declares types for the parts of `oidc-provider` that we use, because the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface Interaction {
    readonly uid: string;
    readonly params: Readonly<Record<string, string | undefined>>;
  }

  export interface Client {
    readonly clientId: string;
    readonly clientName?: string;
    readonly redirectUris: readonly string[];
    readonly clientIdMetadataDocument?: boolean;
    grantTypeAllowed(type: string): boolean;
  }

  export interface Context {
    ip: string;
    type: string;
    status: number;
    body: unknown;
    set(field: string, value: string): void;
    readonly req: IncomingMessage;
    readonly query: Readonly<Record<string, unknown>>;
    readonly oidc: {
      readonly client?: Client;
      /** Name of the library's route that serves the request, such as `resume`. */
      readonly route?: string;
      /** Parameters of the request. Undefined before the library has parsed the request. */
      readonly params?: Readonly<Record<string, string | undefined>>;
      /** Scopes that the request names. */
      readonly requestParamScopes: ReadonlySet<string>;
      readonly entities: { readonly Grant: Grant; readonly RefreshToken: { readonly scopes: ReadonlySet<string> } };
      readonly result?: { readonly consent?: { readonly grantId?: string; readonly ticketHash?: string } };
      readonly provider: Provider;
    };
  }

  /** Error of an authorization request. */
  export interface AuthorizationError extends Error {
    /** Whether the library redirects to the client with the error. If false, the library shows an error page. */
    allow_redirect?: boolean;
  }

  export interface Grant {
    getResourceScopeFiltered(resource: string, scopes: ReadonlySet<string>): string;
  }

  export interface Token {
    kind: string;
    generateTokenId(): string;
  }

  export class Check {
    static readonly REQUEST_PROMPT: boolean;
    static readonly NO_NEED_TO_PROMPT: boolean;
    constructor(reason: string, description: string, error: string, check: (ctx: Context) => boolean);
  }

  export interface Policy {
    get(name: string): { readonly checks: { add(check: Check): void; clear(): void } };
  }

  export const interactionPolicy: { readonly Check: typeof Check; base(): Policy };
  export const errors: {
    readonly AccessDenied: new (detail: string) => Error;
    readonly CustomOIDCProviderError: new (error: string, description: string) => Error;
    readonly InvalidGrant: new (detail: string) => Error;
    readonly InvalidScope: new (description: string) => Error;
    readonly InvalidTarget: new () => Error;
  };

  export default class Provider {
    constructor(issuer: string, configuration: object);
    /** Context of the request that is being served (async local storage). */
    static readonly ctx: Context | undefined;
    proxy: boolean;
    readonly AccessToken: { readonly prototype: Token };
    readonly Grant: { find(id: string): Promise<object | undefined> };
    use(middleware: (ctx: Context, next: () => Promise<void>) => Promise<void>): this;
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    on(event: string, listener: (...values: unknown[]) => void): this;
  }
}
