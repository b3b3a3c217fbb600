/** Starts the program between a client with a key and a backend whose response a test can change. */
import type { ClientRequest } from 'node:http';
import type { ApiKeyWithSecret } from './admin.js';
import { json, startBackend, type Backend, type BackendHandler, type BackendOptions } from './backend.js';
import { exchange, openRequest, send, sendRaw, type Answer, type Exchange, type SendOptions } from './http.js';
import type { RunningTrailgate } from './program.js';
import { acquireTrailgate, type AcquireOptions, type SharedTrailgate } from './shared-program.js';

export interface ProxiedOptions extends Omit<AcquireOptions, 'backend'> {
  /** Targets of the service, instead of the started backend. */
  readonly targets?: string | readonly string[];
  /** Path to append to the URL of the started backend. */
  readonly targetPath?: string;
  readonly backendOptions?: BackendOptions;
}

export interface Proxied<Program extends SharedTrailgate = SharedTrailgate> {
  /** Origin of the gateway, with the base path. */
  readonly url: string;
  readonly port: number;
  readonly key: ApiKeyWithSecret;
  /** Value of the `Authorization` field. */
  readonly authorization: string;
  readonly backend: Backend;
  readonly trailgate: Program;
  /** Replaces the handler of the backend, and forgets the requests that it received. */
  answerWith(handler: BackendHandler): void;
  /** Sends a request with the key. `path` is relative to the base path, and is sent as it is. */
  send(path: string, options?: SendOptions): Promise<Answer>;
  /** Like `send`, but resolves at the head of the response. */
  exchange(path: string, options?: SendOptions): Promise<Exchange>;
  /** Like `send`, but returns the request without sending it. */
  open(path: string, options?: SendOptions): ClientRequest;
  /** Sends raw bytes. See `sendRaw`. */
  raw(bytes: string | Buffer, silenceMs?: number, answers?: number): Promise<string>;
  stop(): Promise<void>;
}

/** OwnProxied has a program that no other test uses. */
export type OwnProxied = Proxied<RunningTrailgate>;

/**
 * Starts a backend, and acquires a program in front of it (`acquireTrailgate`) with an account and a key with all
 * scopes. The caller must stop it.
 */
export function startProxied(options: ProxiedOptions & { readonly own: true }): Promise<OwnProxied>;
export function startProxied(options?: ProxiedOptions): Promise<Proxied>;
export async function startProxied(options: ProxiedOptions = {}): Promise<Proxied> {
  const { targets, targetPath = '', backendOptions, ...rest } = options;
  let handler: BackendHandler = json({ ok: true });
  const backend = await startBackend((...args) => handler(...args), backendOptions);
  const trailgate = await acquireTrailgate({ ...rest, backend: targets ?? backend.url + targetPath });
  const { key } = await trailgate.admin.newKey();
  const authorization = `Bearer ${key.secret}`;
  const port = Number(new URL(trailgate.gatewayUrl).port);
  const url = `${trailgate.gatewayUrl}/api/v1`;
  const withKey = ({ headers = [], ...more }: SendOptions = {}): SendOptions => ({
    ...more,
    headers: ['Authorization', authorization, ...(Array.isArray(headers) ? headers : Object.entries(headers).flat())],
  });
  return {
    url,
    port,
    key,
    authorization,
    backend,
    trailgate,
    answerWith(next) {
      handler = next;
      backend.requests.length = 0;
    },
    send: (path, more) => send(url + path, withKey(more)),
    exchange: (path, more) => exchange(url + path, withKey(more)),
    open: (path, more) => openRequest(url + path, withKey(more)),
    raw: (bytes, silenceMs, answers) => sendRaw(port, bytes, silenceMs, answers),
    async stop() {
      await trailgate.stop();
      await backend.stop();
    },
  };
}
