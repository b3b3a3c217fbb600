/** The configuration that runs, and what the next one may change of it: what is built once stays until the program starts anew. */
import { isDeepStrictEqual } from 'node:util';
import { publicUrlOf } from './load.js';
import type { Config, GatewayFile, Operation } from './schema.js';

/** What is built when the program starts. */
const FIXED: readonly (readonly [name: string, of: (file: GatewayFile) => unknown])[] = [
  ['gateway.host', ({ gateway }) => gateway.host],
  ['gateway.port', ({ gateway }) => gateway.port],
  ['gateway.tls', ({ gateway }) => gateway.tls],
  ['gateway.trustedProxies', ({ gateway }) => gateway.trustedProxies],
  ['gateway.proxyProtocol', ({ gateway }) => gateway.proxyProtocol],
  ['gateway.hsts', ({ gateway }) => gateway.hsts],
  ['admin', ({ admin }) => admin],
  ['api.basePath', ({ api }) => api.basePath],
  ['usage', ({ usage }) => usage],
];

/** Told of every change, in the order in which they asked. */
export type ConfigListener = (config: Config) => void;

export class RunningConfig {
  private readonly listeners: ConfigListener[] = [];
  /** Indexes are never given twice: what is kept by one would be taken for another operation's. */
  private nextIndex: number;

  constructor(private running: Config) {
    this.nextIndex = running.operations.length;
  }

  get current(): Config {
    return this.running;
  }

  onChange(listener: ConfigListener): void {
    this.listeners.push(listener);
  }

  /**
   * Takes a configuration over. All of it is in force when this returns: nothing is awaited, so that no request sees a half of it.
   * @returns settings that differ and only count after a restart.
   */
  replace(next: Config): string[] {
    const { gateway, admin, api, usage } = this.running.file;
    const { host, port, tls, trustedProxies, proxyProtocol, hsts } = gateway;
    const needRestart = FIXED.filter(([, of]) => !isDeepStrictEqual(of(this.running.file), of(next.file)));
    const file: GatewayFile = {
      ...next.file,
      gateway: { ...next.file.gateway, host, port, tls, trustedProxies, proxyProtocol, hsts },
      admin,
      api: { ...next.file.api, basePath: api.basePath },
      usage,
    };
    this.running = { ...next, file, publicUrl: publicUrlOf(file), operations: this.withIndexes(next.operations) };
    for (const listener of this.listeners) listener(this.running);
    return needRestart.map(([name]) => name);
  }

  /** Operations that stay keep their index, and with it what the request path has worked out for them. */
  private withIndexes(operations: readonly Operation[]): Operation[] {
    const indexes = new Map(this.running.operations.map((operation) => [identity(operation), operation.index]));
    return operations.map((operation) => ({
      ...operation,
      index: indexes.get(identity(operation)) ?? this.nextIndex++,
    }));
  }
}

/** What the metrics and the usage of an operation are kept by. */
function identity({ id, method, template }: Operation): string {
  return `${id} ${method} ${template}`;
}
