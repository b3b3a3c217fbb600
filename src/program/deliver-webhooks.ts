/** Starts the delivery of webhooks in the worker role, and ends it at the shutdown. */
import { startDeliveries } from '../webhooks/deliveries/start-deliveries.js';
import type { Modules } from './modules.js';

/** Time to write the results of the last attempts, in addition to the timeout of an attempt. */
const STOP_MARGIN_MS = 5_000;

/**
 * Starts the delivery of webhooks. The shutdown waits for attempts in progress.
 * @returns a function that prevents new attempts. Call it when the shutdown begins.
 */
export async function deliverWebhooks(modules: Modules): Promise<() => void> {
  const { config, database, webhooks: stores, workSignal, clock, log, gauges, shutdown } = modules;
  const { databaseUrl, redisUrl } = config.current.environment;
  const timeoutMs = () => config.current.file.webhooks.timeout;
  const webhooks = await startDeliveries({
    db: database.db,
    kind: database.kind,
    clock,
    log: log.logger,
    signal: workSignal,
    sender: stores.sender,
    openKeys: (endpointIds, nowMs) => stores.secrets.signingKeysOf(endpointIds, nowMs),
    timeoutMs,
    hasMail: () => config.current.file.admin.mail !== undefined,
    databaseUrl,
    isAlone: databaseUrl === undefined && redisUrl === undefined,
  });
  gauges.push(webhooks.gauges);
  const stopTimeoutMs = () => timeoutMs() + STOP_MARGIN_MS;
  shutdown.add(
    'stop webhooks',
    () => webhooks.stop(stopTimeoutMs()),
    () => stopTimeoutMs() + STOP_MARGIN_MS,
  );
  return () => webhooks.stopStarting();
}
