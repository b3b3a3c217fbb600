/** Creates the webhook sender, which follows the configuration. */
import { isDeepStrictEqual } from 'node:util';
import type { Ground } from '../config/ground.js';
import { WebhookSender } from '../webhooks/sending/attempt.js';
import { outboundRules } from '../http/outbound/destination.js';
import { GuardedConnections } from '../http/outbound/guarded-agent.js';
import { nameResolver, type ResolveName } from '../http/outbound/name-resolver.js';

/** Connection timeout per address. */
const CONNECT_TIMEOUT_MS = 5_000;

/** SenderOptions are overrides for tests. */
export interface SenderOptions {
  readonly resolve?: ResolveName;
}

/** Opens the sender. It follows the `webhooks` settings. */
export function webhookSender(
  { config, clock, shutdown }: Ground,
  { resolve = nameResolver() }: SenderOptions = {},
): WebhookSender {
  let { webhooks } = config.current.file;
  let rules = outboundRules(webhooks);
  config.onChange(({ config: { file } }) => () => {
    // Keeps the rules if they are unchanged, because new rules close all connections.
    if (isDeepStrictEqual(webhooks, file.webhooks)) return;
    webhooks = file.webhooks;
    rules = outboundRules(webhooks);
  });
  const connections = new GuardedConnections({ resolve, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  shutdown.add('close receivers', async () => connections.close());
  return new WebhookSender({ connections, rules: () => rules, clock });
}
