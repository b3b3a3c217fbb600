/** Load 4: the same requests over few and over very many connections, all of them busy. */
import { COLUMNS, fixed, notesOf, tableOf } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const COUNTS = [16, 64, 256, 1_000, 4_000];
/** As many requests as there are connections are cut off at the end: where they are many, rounds are longer, so that they stay few. */
const CONNECTIONS_PER_SECOND = 250;
/** As many as can wait at once. The default of 1,024 would refuse some: 503 is right there, but would not be measured here. */
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
