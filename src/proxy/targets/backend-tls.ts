/**
 * TLS files of a service: certificate authorities and the client certificate. They are read at start and again when
 * they change. Open connections are not affected.
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
  /** File contents. A new object after each change. */
  current: BackendTlsFiles;
  /** Name to check certificates against, if it is not the target's host. */
  readonly serverName: { readonly servername?: string };
  private readonly paths: TlsPaths;
  private readonly files = new FileWatch(() => void this.read());

  /**
   * Reads the files.
   * @param folder base for relative file names.
   * @param read file contents if they were read before. Otherwise the constructor reads them synchronously.
   * @throws Error if a file cannot be read or has the wrong content.
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

  /** Starts to watch the files for changes. */
  follow(): void {
    // The watch does not report changes that happened between the first read and now.
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
      this.log?.info(
        { event: 'backend_tls_changed', service },
        'TLS files of a service were reloaded; new connections use them',
      );
    } catch (error) {
      this.log?.error(
        { event: 'backend_tls_refused', service, ...tlsRefusal(error, this.paths) },
        'Changed TLS files of a service are not valid; the previous ones stay in use',
      );
    }
  }
}

/**
 * Reads the TLS files of a service. Rejects if one cannot be read, has the wrong content, or certificate and key do not
 * match.
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
