/**
 * Reads the TLS files of a service: certificate authorities, client certificate and its key. The gateway reads the
 * files when it starts and whenever they change. A change affects only new connections, and files that are not valid
 * never replace the files in use.
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

/** The contents of the TLS files of a service in PEM format. */
export type BackendTlsFiles = TlsContents;

export class BackendTls {
  /** Current file contents. Each change creates a new object. */
  current: BackendTlsFiles;
  /** Name to check certificates against. The object is empty if the service uses the target's host. */
  readonly serverName: { readonly servername?: string };
  private readonly paths: TlsPaths;
  private readonly files = new FileWatch(() => void this.read());

  /**
   * @param folder base for relative file names.
   * @param contents file contents if they were already read. Otherwise the constructor reads the files synchronously.
   * @throws Error if a file cannot be read or has the wrong content.
   */
  constructor(
    private readonly service: string,
    config: BackendTlsConfig,
    folder: string,
    private readonly log?: Logger,
    contents?: BackendTlsFiles,
  ) {
    this.serverName = config.serverName === undefined ? {} : { servername: config.serverName };
    this.paths = pathsOf(config, folder);
    try {
      this.current = contents ?? readNow(this.paths);
    } catch (error) {
      throw tlsFilesError(service, error);
    }
  }

  /** Starts to watch the files for changes. */
  watchFiles(): void {
    // The watch does not report changes that happened after the first read and before now.
    void this.files.watchFiles(namesOf(this.paths)).then(() => this.readIfChanged());
  }

  stop(): void {
    this.files.stop();
  }

  private async readIfChanged(): Promise<void> {
    const now = await readTlsFiles(this.paths).catch(() => ({}) as TlsContents);
    const names = ['ca', 'cert', 'key'] as const;
    const isChanged = names.some((name) => now[name]?.equals(this.current[name] ?? Buffer.alloc(0)) === false);
    if (isChanged) await this.read();
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
 * Reads the TLS files of a service. Rejects if a file cannot be read or has the wrong content, or if certificate and
 * key do not match.
 */
export async function readBackendTls(
  service: string,
  config: BackendTlsConfig,
  folder: string,
): Promise<BackendTlsFiles> {
  try {
    return await readTlsFiles(pathsOf(config, folder));
  } catch (error) {
    throw tlsFilesError(service, error);
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

function tlsFilesError(service: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`The files of services.${service}.tls cannot be used: ${reason}`, { cause: error });
}
