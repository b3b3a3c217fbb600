/** What makes attempts of webhooks, by the rules of the running configuration: for the workers, and for tests. */
import { isDeepStrictEqual } from 'node:util';
import type { RunningConfig } from '../config/running-config.js';
import { WebhookSender } from '../webhooks/sending/attempt.js';
import { outboundRules } from '../http/outbound/destination.js';
import { GuardedConnections } from '../http/outbound/guarded-agent.js';
import { nameResolver } from '../http/outbound/name-resolver.js';
import { systemClock } from '../platform/clock.js';
import type { Shutdown } from './shutdown.js';

/** For a connection to each address that is tried. */
const CONNECT_TIMEOUT_MS = 5_000;

/** What sends webhooks, by the rules of the running configuration. */
export function webhookSender(config: RunningConfig, shutdown: Shutdown): WebhookSender {
  let { webhooks } = config.current.file;
  let rules = outboundRules(webhooks);
  config.onChange(({ config: { file } }) => () => {
    // The same rules as long as they say the same: with others all connections are opened anew.
    if (isDeepStrictEqual(webhooks, file.webhooks)) return;
    webhooks = file.webhooks;
    rules = outboundRules(webhooks);
  });
  const connections = new GuardedConnections({ resolve: nameResolver(), connectTimeoutMs: CONNECT_TIMEOUT_MS });
  shutdown.add('close receivers', async () => connections.close());
  return new WebhookSender({ connections, rules: () => rules, clock: systemClock });
}
