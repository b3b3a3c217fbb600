/** The program between a backend whose answer can be changed and a client with a key: what the tests of the proxy begin with. */
import type { ClientRequest } from 'node:http';
import type { ApiKeyWithSecret } from './admin.js';
import { json, startBackend, type Backend, type BackendHandler, type BackendOptions } from './backend.js';
import { exchange, open, send, sendRaw, type Answer, type Exchange, type SendOptions } from './http.js';
import type { RunningTrailgate } from './program.js';
import { acquireTrailgate, type AcquireOptions, type SharedTrailgate } from './shared-program.js';

export interface ProxiedOptions extends Omit<AcquireOptions, 'backend'> {
  /** Instead of a backend of its own: where the service's targets are. */
  readonly targets?: string | readonly string[];
  /** A path behind the own backend's origin. */
  readonly targetPath?: string;
  readonly backendOptions?: BackendOptions;
}

export interface Proxied<Program extends SharedTrailgate = SharedTrailgate> {
  /** Origin of the gateway and the base path. */
  readonly url: string;
  readonly port: number;
  readonly key: ApiKeyWithSecret;
  /** Value of the field. */
  readonly authorization: string;
  readonly backend: Backend;
  readonly trailgate: Program;
  /** Replaces the handler of the backend, and forgets the requests that it received. */
  answerWith(handler: BackendHandler): void;
  /** A request with the key; `path` is relative to the base path and goes out as it is. */
  send(path: string, options?: SendOptions): Promise<Answer>;
  /** Like `send`, up to the head of the response. */
  exchange(path: string, options?: SendOptions): Promise<Exchange>;
  /** Like `send`, but the request is not sent yet. */
  open(path: string, options?: SendOptions): ClientRequest;
  /** Bytes as they are; see `sendRaw`. */
  raw(bytes: string | Buffer, silenceMs?: number, answers?: number): Promise<string>;
  stop(): Promise<void>;
}

/** With a program of its own. */
export type OwnProxied = Proxied<RunningTrailgate>;

/**
 * Starts a backend and provides the program in front of it (`acquireTrailgate`), with an account and a key that can do everything.
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
    open: (path, more) => open(url + path, withKey(more)),
    raw: (bytes, silenceMs, answers) => sendRaw(port, bytes, silenceMs, answers),
    async stop() {
      await trailgate.stop();
      await backend.stop();
    },
  };
}
