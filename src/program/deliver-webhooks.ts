/** The worker's part in webhooks: what stands in the outbox is delivered to those who want to be told. */
import { startDeliveries } from '../webhooks/deliveries/start-deliveries.js';
import type { Rooms } from './rooms.js';

/** Beyond the attempts that are under way when the program ends: their results are written. */
const STOP_MARGIN_MS = 5_000;

/** Begins to deliver. @returns what begins no more attempts: to be called as soon as the program ends. */
export async function deliverWebhooks(rooms: Rooms): Promise<() => void> {
  const { config, database, webhooks: stores, workSignal, clock, log, gauges, shutdown } = rooms;
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
  const patienceMs = () => timeoutMs() + STOP_MARGIN_MS;
  shutdown.add(
    'stop webhooks',
    () => webhooks.stop(patienceMs()),
    () => patienceMs() + STOP_MARGIN_MS,
  );
  return () => webhooks.rest();
}
