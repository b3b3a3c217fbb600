/**
 * What a service's connections over TLS are verified by and show of us: authorities and a client certificate from
 * files, read at start and again when they change. Connections that stand are not touched.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { FileWatch } from '../../config/source/file-watch.js';
import type { ServiceConfig } from '../../config/model/schema.js';
import {
  namesOf,
  readTlsFiles,
  tlsRefusal,
  usableTlsFiles,
  type TlsContents,
  type TlsPaths,
} from '../../config/source/tls-files.js';
import type { Logger } from '../../platform/log.js';

export type BackendTlsConfig = NonNullable<ServiceConfig['tls']>;

/** The contents of the files, PEM. */
export type BackendTlsFiles = TlsContents;

export class BackendTls {
  /** Another object once the files have changed. */
  current: BackendTlsFiles;
  /** The name that certificates are checked against, where it is not the target's host. */
  readonly serverName: { readonly servername?: string };
  private readonly paths: TlsPaths;
  private readonly files = new FileWatch(() => void this.read());

  /**
   * @param folder what the files are relative to.
   * @param read the files' contents, where they have been read; else they are read at once, as at the start.
   * @throws where a file cannot be read or is none of its kind.
   */
  constructor(
    private readonly service: string,
    config: BackendTlsConfig,
    folder: string,
    private readonly log?: Logger,
    read?: BackendTlsFiles,
  ) {
    this.serverName = config.serverName === undefined ? {} : { servername: config.serverName };
    this.paths = pathsOf(config, folder);
    try {
      this.current = read ?? readNow(this.paths);
    } catch (error) {
      throw unusable(service, error);
    }
  }

  /** Begins to look whether the files have changed. */
  follow(): void {
    // What was put in their place between the reading and now is no change that it would see.
    void this.files.follow(namesOf(this.paths)).then(() => this.readOthers());
  }

  stop(): void {
    this.files.stop();
  }

  private async readOthers(): Promise<void> {
    const now = await readTlsFiles(this.paths).catch(() => ({}) as TlsContents);
    const names = ['ca', 'cert', 'key'] as const;
    const isOther = names.some((name) => now[name]?.equals(this.current[name] ?? Buffer.alloc(0)) === false);
    if (isOther) await this.read();
  }

  private async read(): Promise<void> {
    const { service } = this;
    try {
      this.current = await readTlsFiles(this.paths);
      this.log?.info({ event: 'backend_tls_changed', service }, 'New connections to the service use the new files');
    } catch (error) {
      this.log?.error(
        { event: 'backend_tls_refused', service, ...tlsRefusal(error, this.paths) },
        'The changed TLS files of a service cannot be used; those in use stay',
      );
    }
  }
}

/**
 * Reads the files of a service. Rejects where one cannot be read, is none of its kind, or
 * certificate and key do not fit together.
 */
export async function readBackendTls(
  service: string,
  config: BackendTlsConfig,
  folder: string,
): Promise<BackendTlsFiles> {
  try {
    return await readTlsFiles(pathsOf(config, folder));
  } catch (error) {
    throw unusable(service, error);
  }
}

function pathsOf({ ca, cert, key }: BackendTlsConfig, folder: string): TlsPaths {
  const absolute = (file: string | undefined): string | undefined => file && resolve(folder, file);
  return { ca: absolute(ca), cert: absolute(cert), key: absolute(key) };
}

function readNow(paths: TlsPaths): BackendTlsFiles {
  const files = Object.entries(paths).flatMap(([name, file]) =>
    file === undefined ? [] : [[name, readFileSync(file)]],
  );
  return usableTlsFiles(paths, Object.fromEntries(files) as TlsContents);
}

function unusable(service: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`The files of services.${service}.tls cannot be used: ${reason}`, { cause: error });
}
