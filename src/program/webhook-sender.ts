/** Creates the webhook sender, which applies changes of the configuration. */
import { isDeepStrictEqual } from 'node:util';
import type { SharedDependencies } from '../config/shared-dependencies.js';
import { WebhookSender } from '../webhooks/sending/attempt.js';
import { outboundRules } from '../http/outbound/destination.js';
import { GuardedConnections } from '../http/outbound/guarded-agent.js';
import { nameResolver, type ResolveName } from '../http/outbound/name-resolver.js';

/** Connection timeout for each IP address. */
const CONNECT_TIMEOUT_MS = 5_000;

/** SenderOptions are overrides for tests. */
export interface SenderOptions {
  readonly resolve?: ResolveName;
}

/**
 * Opens the sender. Changes of the `webhooks` settings apply to later attempts. The shutdown closes the connections.
 */
export function webhookSender(
  { config, clock, shutdown }: SharedDependencies,
  { resolve = nameResolver() }: SenderOptions = {},
): WebhookSender {
  let { webhooks } = config.current.file;
  let rules = outboundRules(webhooks);
  config.onChange(({ config: { file } }) => () => {
    // Unchanged rules are kept, because new rules close all connections.
    if (isDeepStrictEqual(webhooks, file.webhooks)) return;
    webhooks = file.webhooks;
    rules = outboundRules(webhooks);
  });
  const connections = new GuardedConnections({ resolve, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  shutdown.add('close receivers', async () => connections.close());
  return new WebhookSender({ connections, rules: () => rules, clock });
}
