/**
 * Creates the services that the authorization server and the panel share. The admin API uses them to show and decide
 * authorization requests.
 */
import type { ApiKeyStore } from '../../accounts/api-key-store.js';
import { longestAccessMs } from '../../config/model/mcp-schema.js';
import type { RunningConfig } from '../../config/running-config.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { InvalidationBus } from '../../keys/api-key.js';
import type { Clock } from '../../platform/clock.js';
import { AuthorizationRequests, resumeUrlAt } from './authorization-requests.js';
import { ClientKeys } from './client-keys.js';
import { OAuthObjects } from './oauth-objects.js';

/** OAuthDomain holds the dependencies of `openOAuth`. */
export interface OAuthDomain {
  readonly config: RunningConfig;
  readonly database: DatabaseHandle;
  readonly keys: { readonly bus: InvalidationBus };
  readonly keyStore: ApiKeyStore;
}

/** OAuthParts holds the services that `openOAuth` creates. */
export interface OAuthParts {
  readonly objects: OAuthObjects;
  readonly keys: ClientKeys;
  readonly requests: AuthorizationRequests;
}

/** Creates the services. They read the current `mcp` configuration at each use. */
export function openOAuth(domain: OAuthDomain, clock: Clock): OAuthParts {
  const { config, database, keyStore } = domain;
  const { db } = database;
  const { bus } = domain.keys;
  const objects = new OAuthObjects(db, clock);
  const keys = new ClientKeys({ db, clock, bus, keys: keyStore });
  const requests = new AuthorizationRequests({
    objects,
    keys,
    clock,
    resumeUrl: (id) => resumeUrlAt(config.current.file.mcp.oauth?.publicUrl ?? '', id),
    longestMs: () => longestAccessMs(config.current.file.mcp),
  });
  return { objects, keys, requests };
}
