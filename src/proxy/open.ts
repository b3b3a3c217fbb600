/** Opens the backends: resolves the targets and checks their health from then on. */
import { dirname } from 'node:path';
import type { Ground } from '../config/ground.js';
import { SHORTAGES } from '../platform/resources/shortages.js';
import type { EventSink } from './calls/event-keeper.js';
import { Forwarder } from './calls/forwarder.js';

/** Short, because the gateway has drained its requests before. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Opens the backends. They follow changes of `services`. @param events receives the events of operations with `emits`.
 */
export function openBackends({ config, log, gauges, shutdown }: Ground, events: EventSink): Forwarder {
  SHORTAGES.log = log.logger;
  const { file, path } = config.current;
  const forwarder = new Forwarder(file.services, { log: log.logger, folder: dirname(path), events });
  gauges.push(forwarder);
  shutdown.add('close backends', () => forwarder.close(CLOSE_TIMEOUT_MS));
  config.onChange(async ({ config: { file: next } }) => {
    const services = await forwarder.prepare(next.services);
    return () => forwarder.replaceServices(next.services, services);
  });
  return forwarder;
}
