/**
 * Creates the forwarder for all services. From then on, the forwarder resolves their targets and checks their health.
 */
import { dirname } from 'node:path';
import type { SharedDependencies } from '../config/shared-dependencies.js';
import { SHORTAGES } from '../platform/resources/shortages.js';
import type { EventSink } from './calls/event-recorder.js';
import { Forwarder } from './calls/forwarder.js';

/** Maximum time for closing backend connections. Short, because all requests have already ended. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Creates the forwarder. Closes it on shutdown, and updates it when `services` changes in the configuration.
 * @param events stores the events of operations with `emits`.
 * @throws Error if a TLS file of a service cannot be read or is not valid.
 */
export function openBackends({ config, log, gauges, shutdown }: SharedDependencies, events: EventSink): Forwarder {
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
