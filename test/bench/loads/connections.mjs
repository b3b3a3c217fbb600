/** Load 4: the same requests over few and many connections, all of which are busy. */
import { COLUMNS, fixed, notesOf, tableOf } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const COUNTS = [16, 64, 256, 1_000, 4_000];
/**
 * Maximum number of connections per second of a round. At the end of a round, one request per connection is
 * interrupted. Rounds with many connections are longer, so that the share of these requests stays small.
 */
const CONNECTIONS_PER_SECOND = 250;
/** Maximum number of waiting requests. With the default of 1,024 the gateway would refuse some requests with 503. */
const QUEUE = 8_192;

export const title = 'Connections';

export async function measure(settings) {
  const gateway = await openScene({ name: 'connections', service: { queue: QUEUE } });
  const rows = COUNTS.map((connections) => ({
    id: `${connections} connections`,
    title: connections.toLocaleString('en'),
    gateway,
    connections,
    leastSeconds: settings.quick ? 0 : Math.ceil(connections / CONNECTIONS_PER_SECOND),
  }));
  return { rows: await measureRows(rows, settings) };
}

export function table({ rows }) {
  const reference = rows.find(({ title: name }) => name === '64');
  const columns = { ...COLUMNS, 'against 64': (row) => fixed(row.lowestCpu / reference.lowestCpu, 2) };
  return [tableOf('connections', rows, columns), ...notesOf(rows)].join('\n\n');
}
